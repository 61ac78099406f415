package data_skip;

import org.apache.hadoop.fs.Path;

/** A Path in everything but its form in EXPLAIN FORMATTED: listeners, who ask what a query reads, are given a path. */
public final class ExplainedPath extends Path {
  private final transient Object clause;

  /** @param clause what is told in words by its `toString`. */
  public ExplainedPath(Path path, Object clause) {
    super(path.toUri());
    this.clause = clause;
  }

  public String toString() {
    return clause != null && isExplained() ? super.toString() + " " + clause : super.toString();
  }

  private static boolean isExplained() {
    StackTraceElement[] callers = new Throwable().getStackTrace();
    for (int i = 0; i < callers.length; i++) {
      String method = callers[i].getMethodName();
      if (method.contains("buildLocationMetadata")) return false; // which is kept, and told to listeners
      if (method.contains("verboseStringWithOperatorId")) return true;
    }
    return false;
  }
}

package data_skip;

/** For whom Spark plans a query, as its stack tells: a plan does not. */
public final class Callers {
  private static final String CACHES = "org.apache.spark.sql.execution.CacheManager";
  private static final String DATASET = "org.apache.spark.sql.classic.Dataset";

  private Callers() {}

  /** Whether other queries will be given the rows of the plan that is made now, as of a cache or a checkpoint. */
  public static boolean keepRows() {
    StackTraceElement[] callers = new Throwable().getStackTrace();
    for (int i = 0; i < callers.length; i++) if (isCache(callers[i]) || isCheckpoint(callers[i])) return true;
    return false;
  }

  public static boolean isCache(StackTraceElement caller) {
    return caller.getClassName().startsWith(CACHES);
  }

  public static boolean isCheckpoint(StackTraceElement caller) {
    return caller.getClassName().startsWith(DATASET) && caller.getMethodName().contains("checkpoint");
  }
}

package data_skip;

import java.time.Instant;
import java.util.ArrayDeque;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What Python has decided, by what it was told: who plans the same scan of the same files again, by the same version of an index, is told the
 * same, and Python not before somebody looks at a report. Of which decisions that is right Python says: it gives them a number (repeated.py).
 */
public final class Answers {
  private static final int MOST = 512; // as many as Python keeps the reports of
  private static final int MOST_UNTOLD = 1000;
  private static final String LEFT = "left ";

  private final Map answers = new LinkedHashMap(); // by version and what was told, the oldest first
  private boolean closed;
  private final ArrayDeque untold = new ArrayDeque(); // what was decided, and Python does not know of: a line each

  /** version: of an index, as Python calls it. told: of a listing, but for what is another for each query. null: nothing is known. */
  public synchronized String of(String version, String told) {
    return (String) answers.get(version + "\n" + told);
  }

  public synchronized void put(String version, String told, String answer) {
    if (closed) return;
    answers.put(version + "\n" + told, answer);
    if (answers.size() > MOST) answers.remove(answers.keySet().iterator().next());
  }

  /** From now on nothing is known. */
  public synchronized void close() {
    closed = true;
    answers.clear();
  }

  /** Notes that a scan of a query, by its number, was told again what has a number of Python's. */
  public void again(String executionId, long scan, String number, double milliseconds) {
    note("again " + executionId + " " + scan + " " + number + " " + milliseconds);
  }

  /** Notes that scans of a query, by a number that no scan has, stay as they are: of what Kept keeps is told more, where somebody asks. */
  public void left(String executionId, long number, String kept) {
    note(LEFT + executionId + " " + number + " " + kept + " 0");
  }

  private synchronized void note(String line) {
    Instant now = Instant.now();
    untold.add(line + " " + (now.getEpochSecond() + now.getNano() / 1e9));
    if (untold.size() <= MOST_UNTOLD) return;
    String oldest = (String) untold.remove();
    if (oldest.startsWith(LEFT)) Kept.forget(oldest.split(" ")[3]);
  }

  /** What was noted since this was asked last: a line each. gone: what Python asks about no more, as of Kept.forget. */
  public synchronized String takeUntold(String gone) {
    Kept.forget(gone);
    String result = String.join("\n", untold);
    untold.clear();
    return result;
  }
}

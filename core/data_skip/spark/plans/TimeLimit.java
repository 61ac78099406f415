package data_skip;

import java.util.Timer;
import java.util.TimerTask;
import org.apache.spark.SparkContext;

/**
 * A time after which the jobs that this thread starts are ended: by a tag of their own, so that no job of the user's is. Only jobs end: what
 * Spark does on the driver takes its time.
 */
public final class TimeLimit {
  private static final String TAGS = "spark.job.tags"; // the property of a thread that SparkContext keeps them in
  private static final int AGAIN = 200; // milliseconds after which jobs are ended that began later
  private static final double LONGEST = 1e9; // seconds: beyond some hundred times as many, moments are no numbers of Java's clock

  private final SparkContext context;
  private final String tag = "data-skip-" + java.util.UUID.randomUUID();
  private final long deadline;
  private final String before;
  private final Timer timer = new Timer("data-skip", true);

  /** From now on, until it is closed. */
  public TimeLimit(final SparkContext context, double seconds) {
    this.context = context;
    final double within = Math.max(0, Math.min(seconds, LONGEST));
    this.deadline = System.nanoTime() + (long) (within * 1e9);
    this.before = tags(context);
    context.addJobTag(tag);
    timer.schedule(new TimerTask() {
      public void run() {
        context.cancelJobsWithTag(tag);
      }
    }, (long) (within * 1000), AGAIN);
  }

  public boolean isOver() {
    return System.nanoTime() >= deadline;
  }

  /** Whether it was by this limit that jobs ended with what was raised: then the user has not cancelled them. */
  public boolean ended(Throwable raised) {
    if (raised == null) return false;
    if (String.valueOf(raised.getMessage()).contains(tag)) return true;
    Throwable[] others = raised.getSuppressed(); // of stages that failed together
    for (int i = 0; i < others.length; i++) if (ended(others[i])) return true;
    return ended(raised.getCause());
  }

  public void close() {
    timer.cancel();
    tags(context, before);
  }

  /** The tags of the jobs that this thread starts. */
  public static String tags(SparkContext context) {
    return context.getLocalProperty(TAGS);
  }

  public static void tags(SparkContext context, String tags) {
    context.setLocalProperty(TAGS, tags);
  }
}

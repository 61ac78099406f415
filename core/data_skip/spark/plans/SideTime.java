package data_skip;

import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The time that the small sides of one query take together: a tenth of what reading takes that they may save; or as long as the user says.
 *
 * A query may ask for the same side at many scans, as a union of a hundred tables does: each of them alone would be given its second.
 */
public final class SideTime {
  private double reading; // seconds
  private long taken; // nanoseconds

  /** A scan may save so many bytes more by its small sides. */
  public synchronized void mayBeSaved(long bytes, SparkSession session) {
    reading += (double) bytes / SideCost.BYTES_A_SECOND / session.sparkContext().defaultParallelism();
  }

  /** Seconds, in all. */
  public synchronized double seconds(SparkSession session) {
    SQLConf conf = session.sessionState().conf();
    return PoolThreads.most(UserSettings.joinMaxSeconds(conf, reading / RuntimeFilter.LEAST_RATIO), conf);
  }

  /** Seconds, of those that are not taken; 0: none. */
  public synchronized double left(SparkSession session) {
    return Math.max(0, seconds(session) - taken / 1e9);
  }

  public synchronized void take(long nanoseconds) {
    taken += nanoseconds;
  }
}

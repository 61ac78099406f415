package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.internal.SQLConf;

/** All runtime filters of one scan. */
public final class RuntimeFilters {
  private RuntimeFilters() {}

  /** Those that may be run for a scan of some files. */
  public static List affordable(List all, FileIndex scan) {
    List found = new ArrayList();
    long bytes = -1; // which takes a look at every file
    for (int i = 0; i < all.size(); i++) {
      if (at(all, i).refusal(SQLConf.get()) != null) continue;
      if (bytes < 0) bytes = scan.sizeInBytes();
      if (at(all, i).leastSavedBytes() <= bytes) found.add(at(all, i));
    }
    return found;
  }

  /** Of each why it may not be run at all; null where it may. */
  public static List refusals(List all, SQLConf conf) {
    List found = new ArrayList();
    for (int i = 0; i < all.size(); i++) found.add(at(all, i).refusal(conf));
    return found;
  }

  /** Why the others are not, for people. */
  public static List whyNotAffordable(List all, SQLConf conf, long bytes) {
    List notes = new ArrayList();
    for (int i = 0; i < all.size(); i++) {
      RuntimeFilter one = at(all, i);
      String refusal = one.refusal(conf);
      if (refusal == null && one.leastSavedBytes() <= bytes) continue;
      if (refusal == null) refusal = one.side() + " may read " + one.bytes() + " bytes, and this table has " + bytes;
      notes.add(one.sql() + " is not used: " + refusal);
    }
    return notes;
  }

  /**
   * The predicate with those that are worth running: of each why it is not, "" where it is. `time` is what they may take; `notes` is told what
   * became of each.
   */
  public static Expression and(Expression predicate, List all, String[] unprofitable, SideTime time, List notes, SparkSession asking) {
    for (int i = 0; i < all.size(); i++) {
      RuntimeFilter one = at(all, i);
      if (!unprofitable[i].isEmpty()) {
        notes.add(one.sql() + " is not used: " + unprofitable[i]);
        continue;
      }
      if (one.mayWaitForItself()) {
        notes.add(one.sql() + " is not used: " + one.side() + " may need the thread in which this one is broadcast, or run");
        continue;
      }
      double left = time.left(asking);
      if (one.mayEnd() && left == 0) {
        notes.add(one.sql() + " is not used: " + shown(time, asking) + " are over in which small sides of this query might be run");
        continue;
      }
      if (!PoolThreads.enter(asking.sessionState().conf())) {
        notes.add(one.sql() + " is not used: " + one.side() + " may need a thread of the pool of this one, of which too many wait already");
        continue;
      }
      long start = System.nanoTime();
      TimeLimit limit = null;
      try {
        if (one.mayEnd()) limit = new TimeLimit(asking.sparkContext(), left);
        Expression found = one.resolve(asking);
        if (found != null) predicate = predicate == Literal$.MODULE$.TrueLiteral() ? found : new And(predicate, found);
        notes.add(one.sql() + ": " + one.side() + " was run first, in " + (System.nanoTime() - start) / 1000000 + " ms");
      } catch (SmallSide.Cancelled cancelled) {
        if (limit == null || !limit.ended(cancelled)) throw cancelled;
        notes.add(one.sql() + " is not used: " + one.side() + " was not done in " + UserSettings.shown(left) + ", and then ended");
      } catch (Exception e) {
        notes.add(one.sql() + " is not used: running " + one.side() + " failed: " + e);
      } finally {
        PoolThreads.leave();
        if (limit != null) { // what fills a cache takes no time that the query would not
          limit.close();
          time.take(System.nanoTime() - start);
        }
      }
    }
    return predicate;
  }

  private static String shown(SideTime time, SparkSession asking) {
    return UserSettings.shown(time.seconds(asking));
  }

  private static RuntimeFilter at(List all, int i) {
    return (RuntimeFilter) all.get(i);
  }
}

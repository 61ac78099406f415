package data_skip;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;

/**
 * What holds of the thread that lists files, where it is one of Spark's pools.
 *
 * What is run in it may need another thread of the same pool. Where all threads of a pool waited for such, they would wait for each other, and
 * no limit would end them, which ends jobs alone. And for a broadcast Spark waits so long and no longer.
 */
public final class PoolThreads {
  private static final String BROADCASTS = "broadcast-exchange";
  private static final String SUBQUERIES = "subquery";
  private static final String PRUNING = "dynamicpruning"; // waits for a broadcast
  private static final String[][] OF_STAGES = { // of adaptive execution: of any query. The pools, and what says how many threads they have
    {"shuffle-exchange", "spark.sql.shuffleExchange.maxThreadThreshold"}, {"ResultQueryStageExecution", "spark.sql.resultQueryStage.maxThreadThreshold"},
  };
  private static final String UNSET = "1024"; // Spark's default of both
  private static final Map WAITING = new HashMap(); // by pool, how many of its threads run something

  private PoolThreads() {}

  /** Whether it makes a broadcast, or runs a sub-query: what needs such threads is not run there at all. */
  public static boolean ofFew() {
    return isOf(BROADCASTS) || isOf(SUBQUERIES) || isOf(PRUNING);
  }

  /** So many seconds, or a tenth of those after which Spark gives up the broadcast that this thread makes; it never does after -1. */
  public static double most(double seconds, SQLConf conf) {
    return isOf(BROADCASTS) && conf.broadcastTimeout() >= 0 ? Math.min(seconds, (double) conf.broadcastTimeout() / 10) : seconds;
  }

  /** Whether this thread may run something of its own: half of a pool's threads may at once. If so, `leave` is called once it is done. */
  public static boolean enter(SQLConf conf) {
    String[] pool = pool();
    if (pool == null) return true;
    synchronized (WAITING) {
      int waiting = waiting(pool);
      if (2 * (waiting + 1) > Integer.parseInt(conf.getConfString(pool[1], UNSET))) return false;
      WAITING.put(pool[0], new Integer(waiting + 1));
      return true;
    }
  }

  public static void leave() {
    String[] pool = pool();
    if (pool == null) return;
    synchronized (WAITING) {
      WAITING.put(pool[0], new Integer(waiting(pool) - 1));
    }
  }

  private static int waiting(String[] pool) {
    Integer known = (Integer) WAITING.get(pool[0]);
    return known == null ? 0 : known.intValue();
  }

  private static String[] pool() {
    for (int i = 0; i < OF_STAGES.length; i++) if (isOf(OF_STAGES[i][0])) return OF_STAGES[i];
    return null;
  }

  private static boolean isOf(String pool) {
    return Thread.currentThread().getName().startsWith(pool);
  }
}

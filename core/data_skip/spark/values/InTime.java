package data_skip;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InitCap;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.StringToMap;
import org.apache.spark.sql.catalyst.expressions.Upper;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Spark's expressions, evaluated for as long as a decision waits (half of `spark.data_skip.decideSeconds`). A query may look at a value only
 * behind another predicate; here each leaf is evaluated of all values, and of one of them it may take long, as a function of a user's does. Its
 * thread is interrupted, and ends between two values. Nothing ends it within one: then it is left behind, and the same is not asked again
 * before it has ended. What is not known in time is unknown.
 */
public final class InTime {
  private static final int MOST = 2; // threads that are left behind: beyond, nothing is asked until one has ended
  private static final Map LEFT = new HashMap(); // Thread -> hash of what it evaluates

  private static boolean hasLetters;

  private InTime() {}

  /** What is to be done. */
  public abstract static class Work {
    public abstract Object done() throws Exception;
  }

  /** What comes of the work; an error where that is not known in time. */
  public static Object of(Expression expression, final Work work) throws Exception {
    refuseWhatIsLeft(expression);
    if (asksForLetters(expression)) makeLetters();
    final SQLConf conf = SQLConf.get();
    final Object[] found = new Object[2];
    Thread thread = new Thread("data-skip evaluates") {
      public void run() {
        SQLConf.withExistingConf(conf, new scala.runtime.AbstractFunction0() {
          public Object apply() {
            try {
              found[0] = work.done();
            } catch (Throwable raised) {
              found[1] = raised;
            }
            return null;
          }
        });
      }
    };
    thread.setDaemon(true);
    thread.start();
    double seconds = Math.min(UserSettings.decideSeconds(conf) / 2, Integer.MAX_VALUE);
    boolean late = true;
    try {
      thread.join(Math.max(1, (long) (seconds * 1000)));
    } catch (InterruptedException cancelled) {
      Thread.currentThread().interrupt(); // the query that is planned is told by this
      throw cancelled;
    } finally {
      late = leaveIfAlive(thread, expression);
    }
    if (late) { // also where it has ended since: what is interrupted may give anything
      throw new IllegalStateException("Spark evaluates this of some value for more than " + seconds + " s: " + ReadableSql.of(expression));
    }
    if (found[1] instanceof Exception) throw (Exception) found[1];
    if (found[1] != null) throw new IllegalStateException((Throwable) found[1]); // as of memory
    return found[0];
  }

  /** Whether an expression is evaluated by Spark's CollationAwareUTF8String. */
  private static boolean asksForLetters(Expression expression) {
    if (expression instanceof Upper || expression instanceof Lower || expression instanceof InitCap || expression instanceof StringToMap) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      boolean inAnyCase = child.dataType() instanceof StringType && ((StringType) child.dataType()).supportsLowercaseEquality();
      if (inAnyCase || asksForLetters(child)) return true;
    }
    return false;
  }

  /** The first of them in a JVM makes a table of all letters, for seconds: those are no value's. */
  private static synchronized void makeLetters() {
    if (!hasLetters) new Upper(new Literal(UTF8String.fromString("a"), DataTypes.StringType)).eval(InternalRow$.MODULE$.empty());
    hasLetters = true;
  }

  private static synchronized boolean leaveIfAlive(Thread thread, Expression expression) {
    if (!thread.isAlive()) return false;
    thread.interrupt();
    LEFT.put(thread, new Integer(expression.semanticHash()));
    return true;
  }

  private static synchronized void refuseWhatIsLeft(Expression expression) {
    for (Iterator threads = LEFT.keySet().iterator(); threads.hasNext();) if (!((Thread) threads.next()).isAlive()) threads.remove();
    if (LEFT.isEmpty()) return;
    boolean same = LEFT.containsValue(new Integer(expression.semanticHash()));
    if (same || LEFT.size() >= MOST) throw new IllegalStateException("Spark still evaluates this, or others, of some value, for an earlier question");
  }
}

package data_skip;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.classic.SparkSession$;
import org.apache.spark.unsafe.Platform;

/**
 * What a statement of SQL asks of data-skip by name: Python answers it, on the thread that asks, with a DataFrame.
 *
 * Python may have Spark list files and run jobs meanwhile. It does so on this thread, so by its session, job group and tags: py4j runs on the
 * thread that waits for an answer what is asked of the JVM before it comes.
 */
public final class Statement {
  private static final String CONDITION = "USER_RAISED_EXCEPTION"; // that of raise_error: PySpark knows no error without one

  private final BiFunction python;
  private final String name;
  private final Map arguments;

  public Statement(BiFunction python, String name, Map arguments) {
    this.python = python;
    this.name = name;
    this.arguments = arguments;
  }

  public Dataset answer() {
    scala.Option active = SparkSession$.MODULE$.getActiveSession(); // PySpark sets its own
    AtomicReference answer = new AtomicReference();
    Object why;
    try {
      Map json = new HashMap();
      json.put("name", name);
      json.put("arguments", arguments);
      json.put("query", active.isEmpty() ? "" : Plans.executionId((SparkSession) active.get()));
      Connection.answersAtOnce();
      why = Connection.ask(python, Plans.json(json), answer);
    } catch (RuntimeException gone) {
      why = "Python does not answer: " + gone.getMessage();
    } finally {
      if (active.isEmpty()) SparkSession$.MODULE$.clearActiveSession();
      else SparkSession$.MODULE$.setActiveSession((SparkSession) active.get());
    }
    if (answer.get() != null) return (Dataset) answer.get();
    throw refused(name, String.valueOf(why));
  }

  public InternalRow[] rows() {
    return answer().queryExecution().executedPlan().executeCollect();
  }

  public String toString() {
    return name + arguments;
  }

  /** Throws an AnalysisException, which Java takes for a checked one. */
  public static RuntimeException refused(String name, String why) {
    String message = name + ": " + why;
    scala.collection.immutable.Map told = (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty().updated("errorMessage", message);
    scala.Option none = scala.Option.empty();
    Platform.throwException(new AnalysisException(message, none, none, none, scala.Option.apply(CONDITION), told, new QueryContext[0]));
    return null;
  }
}

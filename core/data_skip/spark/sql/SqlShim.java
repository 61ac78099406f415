package data_skip;

import java.util.function.BiFunction;
import org.apache.spark.sql.classic.SparkSession;

/** What Python calls, as Shim. */
public final class SqlShim {
  /**
   * From now on the session knows a table function, or, where its name has a dot, a procedure of the catalog `data_skip`: false where that is
   * the user's own catalog. parameters, columns: as JSON. columns: null for those of the answer.
   */
  public boolean install(SparkSession session, BiFunction python, String name, String parameters, String columns, String description) {
    String procedure = procedure(name);
    if (procedure == null) {
      TableFunction.install(session.sessionState().tableFunctionRegistry(), python, name, parameters, columns, description);
      return true;
    }
    BiFunction procedures = Procedures.of(session);
    if (procedures != null) procedures.apply(python, procedure + "\n" + parameters + "\n" + columns + "\n" + description);
    return procedures != null;
  }

  public void uninstall(SparkSession session, String name) {
    String procedure = procedure(name);
    if (procedure == null) {
      TableFunction.uninstall(session.sessionState().tableFunctionRegistry(), name);
    } else {
      BiFunction procedures = Procedures.of(session);
      if (procedures != null) procedures.apply(null, procedure);
    }
  }

  private static String procedure(String name) {
    int dot = name.indexOf('.');
    return dot < 0 ? null : name.substring(dot + 1);
  }
}

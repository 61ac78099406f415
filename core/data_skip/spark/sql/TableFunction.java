package data_skip;

import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructType;

/**
 * A table function of a session. Spark looks it up while it analyses, under the lock of the session's catalog: nothing is asked then but
 * for the columns that only the answer tells.
 */
public final class TableFunction extends scala.runtime.AbstractFunction1 {
  private static final String SOURCE = "scala_udf";

  private final BiFunction python;
  private final String name;
  private final StructType parameters;
  private final StructType columns; // null: as the answer has them

  private TableFunction(BiFunction python, String name, StructType parameters, StructType columns) {
    this.python = python;
    this.name = name;
    this.parameters = parameters;
    this.columns = columns;
  }

  /** columns: as JSON, or null. */
  public static void install(
      TableFunctionRegistry functions, BiFunction python, String name, String parameters, String columns, String description) {
    StructType takes = (StructType) DataType$.MODULE$.fromJson(parameters);
    StructType gives = columns == null ? null : (StructType) DataType$.MODULE$.fromJson(columns);
    TableFunction function = new TableFunction(python, name, takes, gives);
    uninstall(functions, name); // Spark logs a warning of what is replaced
    functions.createOrReplaceTempFunction(name, function, SOURCE);
    FunctionIdentifier known = known(functions, name);
    functions.dropFunction(known);
    String database = known.database().isEmpty() ? null : (String) known.database().get();
    String usage = description + ". It takes " + Arguments.shown(takes) + "."; // for DESCRIBE FUNCTION
    String none = "";
    functions.registerFunction(
        known, new ExpressionInfo(TableFunction.class.getName(), database, name, usage, none, none, none, none, none, none, SOURCE), function);
  }

  public static void uninstall(TableFunctionRegistry functions, String name) {
    FunctionIdentifier known = known(functions, name);
    if (known != null) functions.dropFunction(known);
  }

  /** Spark's own name for a function, which has other parts in each version. */
  private static FunctionIdentifier known(TableFunctionRegistry functions, String name) {
    scala.collection.Iterator all = functions.listFunction().iterator();
    while (all.hasNext()) {
      FunctionIdentifier function = (FunctionIdentifier) all.next();
      if (function.funcName().equals(name)) return function;
    }
    return null;
  }

  /** The plan of a call. */
  public Object apply(Object arguments) {
    Statement statement = new Statement(python, name, Arguments.of(name, parameters, (scala.collection.immutable.Seq) arguments));
    if (columns == null) return statement.answer().queryExecution().analyzed();
    return DataSourceV2Relation$.MODULE$.create(new AnswerTable(statement, columns), scala.Option.empty(), scala.Option.empty());
  }
}

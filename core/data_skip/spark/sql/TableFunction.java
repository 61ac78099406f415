package data_skip;

import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation$;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.StructType;

/**
 * A table function of a session. Spark looks it up while it analyses, under the lock of the session's catalog: nothing is asked then but
 * for the columns that only the answer tells.
 */
public final class TableFunction extends scala.runtime.AbstractFunction1 {
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
  public static void install(TableFunctionRegistry functions, BiFunction python, String name, String parameters, String columns) {
    StructType answer = columns == null ? null : (StructType) DataType$.MODULE$.fromJson(columns);
    TableFunction function = new TableFunction(python, name, (StructType) DataType$.MODULE$.fromJson(parameters), answer);
    functions.createOrReplaceTempFunction(name, function, "scala_udf");
  }

  public static void uninstall(TableFunctionRegistry functions, String name) {
    scala.collection.Iterator known = functions.listFunction().iterator();
    while (known.hasNext()) { // by Spark's own name for it, which has other parts in each version
      FunctionIdentifier function = (FunctionIdentifier) known.next();
      if (function.funcName().equals(name)) functions.dropFunction(function);
    }
  }

  /** The plan of a call. */
  public Object apply(Object arguments) {
    Statement statement = new Statement(python, name, Arguments.of(name, parameters, (scala.collection.immutable.Seq) arguments));
    if (columns == null) return statement.answer().queryExecution().analyzed();
    return DataSourceV2Relation$.MODULE$.create(new AnswerTable(statement, columns), scala.Option.empty(), scala.Option.empty());
  }
}

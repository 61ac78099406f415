package data_skip;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.UserDefinedType;
import org.apache.spark.sql.types.YearMonthIntervalType;

/** How PySpark runs a Python function, and what it makes of its results. */
public final class PythonResults {
  public static final int ROW_AT_A_TIME = 100; // Spark's PythonEvalType
  private static final int ROWS_BY_ARROW = 101;
  private static final int OF_SERIES = 200;
  private static final int OF_MANY_SERIES = 204;
  private static final String BY_SERIES = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled";
  private static final String SAFELY = "spark.sql.execution.pandas.convertToArrowArraySafely";

  private PythonResults() {}

  /**
   * Whether a result may be another one beside those of other rows. Of those of a plain function by Arrow PySpark makes a Series of pandas (later
   * versions where a setting says so), of all of a batch: in it large whole numbers are rounded, or cut otherwise, beside a None, and times are
   * not of the session's zone beside one that pandas cannot hold, as 9999-12-31; and of times of one offset from UTC the dates are those of UTC.
   * Elsewhere whole numbers that are too large are cut otherwise beside a float, unless a setting makes that an error.
   */
  public static boolean changeBesideOthers(PythonUDF function) {
    if (function.evalType() != ROWS_BY_ARROW) return false;
    DataType type = function.dataType();
    if (type instanceof IntegralType) return is(BY_SERIES) || !is(SAFELY);
    return (isTime(type) || type instanceof DateType || type instanceof DecimalType) && is(BY_SERIES);
  }

  /** Whether an expression calls a function whose arguments, or results, may be others beside those of other rows. */
  public static boolean dependOnOthers(Expression expression) {
    if (expression instanceof PythonUDF && (changeBesideOthers((PythonUDF) expression) || isGivenOthers((PythonUDF) expression))) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (dependOnOthers((Expression) children.next())) return true;
    return false;
  }

  /** Whether pandas has another form of an argument in a batch with a NULL: numbers with fractions of whole ones, and of the parts of times. */
  public static boolean isGivenOthers(PythonUDF function) {
    boolean series = function.evalType() == OF_SERIES || function.evalType() == OF_MANY_SERIES;
    if (!series && !(function.evalType() == ROWS_BY_ARROW && is(BY_SERIES))) return false;
    scala.collection.Iterator arguments = function.children().iterator();
    while (arguments.hasNext()) {
      Expression argument = (Expression) arguments.next();
      DataType type = argument.dataType();
      boolean changing = type instanceof IntegralType || type instanceof BooleanType || isTime(type) || type instanceof StructType || type instanceof UserDefinedType;
      if (changing && argument.nullable() && !argument.foldable()) return true;
    }
    return false;
  }

  private static boolean isTime(DataType type) {
    return type instanceof TimestampType || type instanceof TimestampNTZType || type instanceof DayTimeIntervalType || type instanceof YearMonthIntervalType;
  }

  private static boolean is(String setting) {
    try {
      return Boolean.parseBoolean(SQLConf.get().getConfString(setting));
    } catch (java.util.NoSuchElementException always) { // Spark 4.0 has no setting for a Series
      return true;
    }
  }
}

package data_skip;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
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
   * Whether a result may be another one beside those of other rows, or an error alone. Of those of a plain function by Arrow PySpark makes a Series of
   * pandas (later versions where a setting says so), of all of a batch: in it large whole numbers are rounded, or cut otherwise, beside a None, and times
   * are not of the session's zone beside one that pandas cannot hold, as 9999-12-31; and of times of one offset from UTC the dates are those of UTC.
   * Elsewhere, and within arrays, structs and maps, whole numbers that are too large are cut otherwise beside a float, unless a setting makes that an
   * error; by that setting a large whole number that is given for a float is an error, but not beside a float.
   */
  public static boolean changeBesideOthers(PythonUDF function) {
    return function.evalType() == ROWS_BY_ARROW && changesBesideOthers(function.dataType());
  }

  private static boolean changesBesideOthers(DataType type) {
    if (type instanceof ArrayType) return changesBesideOthers(((ArrayType) type).elementType());
    if (type instanceof MapType) return changesBesideOthers(((MapType) type).keyType()) || changesBesideOthers(((MapType) type).valueType());
    if (type instanceof UserDefinedType) return changesBesideOthers(((UserDefinedType) type).sqlType());
    if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      for (int i = 0; i < fields.length; i++) if (changesBesideOthers(fields[i].dataType())) return true;
      return false;
    }
    if (type instanceof IntegralType) return is(BY_SERIES) || !is(SAFELY);
    if (type instanceof FloatType) return is(SAFELY);
    if (type instanceof DoubleType) return is(SAFELY) && is(BY_SERIES);
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
      if (!argument.foldable() && changesBesideNull(argument.dataType(), argument.nullable())) return true;
    }
    return false;
  }

  /** The elements of all arrays of a batch are one array of pandas: one that is NULL makes others of those of other rows. */
  private static boolean changesBesideNull(DataType type, boolean nullable) {
    if (type instanceof ArrayType) return changesBesideNull(((ArrayType) type).elementType(), ((ArrayType) type).containsNull());
    if (type instanceof MapType) {
      MapType map = (MapType) type;
      return changesBesideNull(map.keyType(), false) || changesBesideNull(map.valueType(), map.valueContainsNull());
    }
    if (type instanceof StructType || type instanceof UserDefinedType) return true;
    return nullable && (type instanceof IntegralType || type instanceof BooleanType || isTime(type));
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

package data_skip;

import java.util.regex.Pattern;
import org.apache.spark.internal.config.ConfigEntry;
import org.apache.spark.internal.config.ConfigEntry$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StringType;

/** How PySpark runs a Python function, and what it makes of its arguments and results. */
public final class PythonResults {
  public static final int ROW_AT_A_TIME = 100; // Spark's PythonEvalType
  public static final int ROWS_BY_ARROW = 101;
  private static final int OF_SERIES = 200;
  private static final int OF_MANY_SERIES = 204;
  private static final int OF_ARRAYS = 250;
  private static final int OF_MANY_ARRAYS = 251;
  private static final String SAFELY = "spark.sql.execution.pandas.convertToArrowArraySafely";
  private static final String BY_SERIES = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled";

  /** How a pickle begins that names data_skip.functions.Versioned first: its protocol, its length, and two texts with theirs. */
  private static final Pattern VERSIONED =
      Pattern.compile("\\x80.\\x95.{8}\\x8c\\x13data_skip\\.functions\\x94\\x8c\\x09Versioned\\x94\\x93", Pattern.DOTALL);
  private static final int BEGINNING = 64; // bytes, in which that is

  private PythonResults() {}

  /** Whether a Python function says which version it is. */
  public static boolean isVersioned(PythonUDF function) {
    StringBuilder beginning = new StringBuilder();
    scala.collection.Iterator pickled = function.func().command().iterator();
    while (pickled.hasNext() && beginning.length() < BEGINNING) beginning.append((char) (((Byte) pickled.next()).byteValue() & 0xFF));
    return VERSIONED.matcher(beginning).lookingAt();
  }

  /**
   * Whether a result may be another one, or an error, beside those of other rows: of a plain function by Arrow any but text and binary. Of all of a
   * batch PySpark makes one Series of pandas, in which large whole numbers are rounded, or cut otherwise, beside a None or a fraction, times are of
   * another zone beside one that pandas cannot hold, as 9999-12-31, dates of times are those of UTC or local ones, and a NaT is NULL beside a boolean,
   * and an error alone. Where it makes an array of Arrow of it at once (later versions), BOOLEAN is the same as well, and whole numbers, where those
   * that are too large are errors. So are others of a function that gives no other values than of its type, as it says by its version (functions.py).
   * A function that makes the arrays itself, `pa.array([...])`, has Arrow infer as much, of text as well, and PySpark casts what it gives, safely.
   */
  public static boolean changeBesideOthers(PythonUDF function) {
    DataType type = function.dataType();
    if (givesArrays(function)) return !(type instanceof BinaryType || type instanceof BooleanType || type instanceof IntegralType) && !isVersioned(function);
    if (isTextual(type) || !isByArrow(function)) return false;
    if (function.evalType() == ROWS_BY_ARROW && makesSeries()) return true;
    if (type instanceof IntegralType) return !is(SAFELY);
    return !(type instanceof BooleanType) && !isVersioned(function);
  }

  /**
   * Where a result is none of the function's type, PySpark casts all of a batch from the type that Arrow infers of them: Decimal('0.3') is a DOUBLE of
   * 0.30000000000000004, and 0.3 beside Decimal('1E-22'); a time with an offset has its local date, or that of UTC. Spark 4.0 does so of plain
   * functions only.
   */
  private static boolean isByArrow(PythonUDF function) {
    return function.evalType() == ROWS_BY_ARROW || isOfSeries(function) && ConfigEntry$.MODULE$.findEntry(BY_SERIES) != null;
  }

  private static boolean givesArrays(PythonUDF function) {
    return function.evalType() == OF_ARRAYS || function.evalType() == OF_MANY_ARRAYS;
  }

  private static boolean isOfSeries(PythonUDF function) {
    return function.evalType() == OF_SERIES || function.evalType() == OF_MANY_SERIES;
  }

  /** Whether the arguments of a function, or its results, may be others beside those of other rows. */
  public static boolean dependOnOthers(PythonUDF function) {
    return changeBesideOthers(function) || isGivenOthers(function);
  }

  /** Whether a function is given many rows at once, of which it may make what it likes, or what it gives may be another beside those of others. */
  public static boolean areGivenOthers(PythonUDF function) {
    return isOfSeries(function) || givesArrays(function) || dependOnOthers(function);
  }

  /** Whether an expression calls a function of which that is so. */
  public static boolean dependOnOthers(Expression expression) {
    if (expression instanceof PythonUDF && dependOnOthers((PythonUDF) expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (dependOnOthers((Expression) children.next())) return true;
    return false;
  }

  /** Whether pandas has another form of an argument in a batch with a NULL: numbers with fractions of whole ones, and of the parts of times. */
  private static boolean isGivenOthers(PythonUDF function) {
    if (!isOfSeries(function) && !(function.evalType() == ROWS_BY_ARROW && makesSeries())) return false;
    scala.collection.Iterator arguments = function.children().iterator();
    while (arguments.hasNext()) {
      Expression argument = (Expression) arguments.next();
      if (!argument.foldable() && changesBesideNull(argument.dataType(), argument.nullable())) return true;
    }
    return false;
  }

  /** All but those of which pandas has one form; the elements of all arrays of a batch are one array of pandas. */
  private static boolean changesBesideNull(DataType type, boolean nullable) {
    if (type instanceof ArrayType) return changesBesideNull(((ArrayType) type).elementType(), ((ArrayType) type).containsNull());
    boolean same = isTextual(type) || type instanceof FloatType || type instanceof DoubleType || type instanceof DateType || type instanceof DecimalType;
    return !same && (nullable || !(type instanceof AtomicType));
  }

  private static boolean isTextual(DataType type) {
    return type instanceof StringType || type instanceof BinaryType;
  }

  private static boolean makesSeries() {
    return is(BY_SERIES); // which Spark 4.0 does not know: it always does, whatever a configuration that it shares with a later one sets
  }

  private static boolean is(String setting) {
    ConfigEntry entry = ConfigEntry$.MODULE$.findEntry(setting);
    return entry == null || Boolean.TRUE.equals(SQLConf.get().getConf(entry));
  }
}

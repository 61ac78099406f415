package data_skip;

import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DayTimeIntervalType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.YearMonthIntervalType;

/** How PySpark runs a Python function, and what it makes of its results. */
public final class PythonResults {
  public static final int ROW_AT_A_TIME = 100; // Spark's PythonEvalType
  private static final int ROWS_BY_ARROW = 101;
  private static final String BY_SERIES = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled";

  private PythonResults() {}

  /**
   * Whether a result may be another one beside those of other rows. Of those of a plain function by Arrow PySpark makes a Series of pandas (later
   * versions where a setting says so), of all of a batch: in it large whole numbers are rounded, or cut otherwise, beside a None, and times are
   * not of the session's zone beside one that pandas cannot hold, as 9999-12-31.
   */
  public static boolean changeBesideOthers(PythonUDF function) {
    DataType type = function.dataType();
    boolean changing = type instanceof IntegralType || type instanceof DecimalType || type instanceof TimestampType || type instanceof TimestampNTZType
        || type instanceof DayTimeIntervalType || type instanceof YearMonthIntervalType;
    return changing && function.evalType() == ROWS_BY_ARROW && bySeries();
  }

  private static boolean bySeries() {
    try {
      return Boolean.parseBoolean(SQLConf.get().getConfString(BY_SERIES));
    } catch (java.util.NoSuchElementException always) {
      return true;
    }
  }
}

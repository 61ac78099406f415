package data_skip;

import java.util.IdentityHashMap;
import org.apache.spark.sql.catalyst.expressions.ArrayJoin;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.DivideInterval;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FormatString;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.HashExpression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Levenshtein;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MakeTimestamp;
import org.apache.spark.sql.catalyst.expressions.Slice;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.UserDefinedType;

/**
 * Where a job may not give what is evaluated here. The claims lab (tests/claims) looks for more.
 *
 * Spark holds a decimal as a long (compact) or as a BigDecimal: what is read from a row is compact where its type has at most 18 digits,
 * what is computed is one or the other, as the plan has it. And some functions give one thing in generated code, another where they are
 * interpreted.
 */
public final class Doubtful {
  private static final int EXACT_DIGITS = 15; // that a double tells apart
  private static final int INT_DIGITS = 10;
  private static final int MULTIPLIED_DIGITS = 34; // that Spark keeps of a product where it does not generate code

  private static final long MOST_SLICED = 1L << 30;
  private static final int SECONDS = 5; // the operand of MakeTimestamp, of which eval keeps 32 bits as microseconds, and its code does not

  private Doubtful() {}

  /** Whether a part of an expression, down to what is replaced, may be something else in a job. */
  public static boolean anywhere(Expression expression, IdentityHashMap replaced) {
    if (replaced.get(expression) instanceof Expression) return false;
    if (here(expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      if (anywhere((Expression) children.next(), replaced)) return true;
    }
    return false;
  }

  /**
   * Whether a part of an expression may be something else in another plan of the same query: also of what this one reads from a row, and that one
   * computes in the same task, as of the rows of a join that it does not broadcast.
   */
  public static boolean inSomePlan(Expression expression) {
    if (here(expression)) return true;
    if (expression instanceof Cast && ((Cast) expression).child().dataType() instanceof DecimalType && throughDouble((Cast) expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (inSomePlan((Expression) children.next())) return true;
    return false;
  }

  /** Whether this very expression may give something else of the same operands. */
  public static boolean here(Expression expression) {
    if (Determinism.isRandom(expression)) return true;
    if (expression instanceof HashExpression) return ofIntervals(expression);
    if (expression instanceof InSet) return mayMeetNaN((InSet) expression);
    if (expression instanceof ArrayJoin || expression instanceof Levenshtein) return mayLackTheThird(expression);
    if (expression instanceof DivideInterval) return true; // by 0 it is NULL, or nothing that is, in generated code
    if (expression instanceof FormatString) return showsObjects(expression);
    if (expression instanceof TryEval) return buildsMap(expression);
    if (expression instanceof MakeTimestamp) return !(expression.children().apply(SECONDS) instanceof Literal);
    if (expression instanceof Slice) return !(isSmall(expression, 1) && isSmall(expression, 2));
    if (expression.dataType() instanceof MapType && !isRead(expression)) return hasFloatKeys((MapType) expression.dataType());
    if (!(expression instanceof Cast) || !(((Cast) expression).child().dataType() instanceof DecimalType)) return false;
    Cast cast = (Cast) expression;
    boolean rounded = cast.dataType() instanceof TimestampType && ((DecimalType) cast.child().dataType()).precision() > MULTIPLIED_DIGITS;
    return rounded || (throughDouble(cast) && !isRead(cast.child()));
  }

  /** What Java writes of an array, a map, a struct or bytes is of the object that holds them, which each plan chooses: `[1, 2]` or `UnsafeArrayData@61`. */
  private static boolean showsObjects(Expression format) {
    scala.collection.Iterator children = format.children().iterator();
    while (children.hasNext()) {
      DataType type = ((Expression) children.next()).dataType();
      if (type instanceof UserDefinedType) type = ((UserDefinedType) type).sqlType();
      if (type instanceof ArrayType || type instanceof MapType || type instanceof StructType || type instanceof BinaryType) return true;
    }
    return false;
  }

  /** Generated code leaves out the days of an interval. */
  private static boolean ofIntervals(Expression hash) {
    scala.collection.Iterator children = hash.children().iterator();
    while (children.hasNext()) {
      if (((Expression) children.next()).dataType().catalogString().contains("interval")) return true;
    }
    return false;
  }

  /** NaN IN (1, ..., NULL) is false where it is interpreted, as InSet.eval has it, and NULL in generated code. */
  private static boolean mayMeetNaN(InSet in) {
    return in.hset().contains(null) && (in.child().dataType() instanceof DoubleType || in.child().dataType() instanceof FloatType);
  }

  /** By its code ArrayJoin gives NULL for each array where what replaces NULL may be NULL; Levenshtein.eval takes a threshold NULL for 0. */
  private static boolean mayLackTheThird(Expression expression) {
    return expression.children().size() == 3 && ((Expression) expression.children().apply(2)).nullable();
  }

  /** What an error leaves in the builder of a map, a job has in the map of its next row; a query ends by it, unless it is caught. */
  private static boolean buildsMap(Expression expression) {
    if (expression.dataType() instanceof MapType && !isRead(expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      if (buildsMap((Expression) children.next())) return true;
    }
    return false;
  }

  /** Slice.eval adds where it begins and how long it is, which may wrap round. */
  private static boolean isSmall(Expression slice, int operand) {
    Object given = slice.children().apply(operand);
    return given instanceof Literal && Math.abs(((Number) ((Literal) given).value()).longValue()) <= MOST_SLICED;
  }

  /** CreateMap.eval makes a key -0.0 to 0.0, and its code does not, unless two keys are the same. */
  private static boolean hasFloatKeys(MapType map) {
    String keys = map.keyType().catalogString();
    return keys.contains("float") || keys.contains("double");
  }

  /** See Decimal.roundToInt; outside of ANSI mode digits are cut off exactly. */
  private static boolean throughDouble(Cast cast) {
    DataType to = cast.dataType();
    if (cast.evalMode().toString().equals("LEGACY")) return false;
    if (!(to instanceof ByteType || to instanceof ShortType || to instanceof IntegerType)) return false;
    DecimalType from = (DecimalType) cast.child().dataType();
    return from.scale() > 0 && Math.min(from.precision(), INT_DIGITS + from.scale()) > EXACT_DIGITS;
  }

  private static boolean isRead(Expression expression) {
    if (expression instanceof GetStructField) return isRead(((GetStructField) expression).child());
    return expression instanceof AttributeReference || expression instanceof Literal;
  }
}

package data_skip;

import org.apache.spark.sql.catalyst.expressions.ArrayAggregate;
import org.apache.spark.sql.catalyst.expressions.ArrayInsert;
import org.apache.spark.sql.catalyst.expressions.ArrayRepeat;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.CsvToStructs;
import org.apache.spark.sql.catalyst.expressions.DateDiff;
import org.apache.spark.sql.catalyst.expressions.ElementAt;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FormatNumber;
import org.apache.spark.sql.catalyst.expressions.FormatString;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.JsonToStructs;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.RLike;
import org.apache.spark.sql.catalyst.expressions.RoundBase;
import org.apache.spark.sql.catalyst.expressions.Sequence;
import org.apache.spark.sql.catalyst.expressions.StringLPad;
import org.apache.spark.sql.catalyst.expressions.StringRPad;
import org.apache.spark.sql.catalyst.expressions.StringRepeat;
import org.apache.spark.sql.catalyst.expressions.StringSpace;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.XmlToStructs;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What a number in a row makes large, or reads beyond its end. A query may look at the number before (`n < 9 AND repeat(s, n) = 'aa'`);
 * here each leaf is evaluated of all values that a file holds, in the driver. What is too large raises an error, and so is unknown; and what
 * is too long to be matched by a pattern (Backtracking), or tells a decimal of millions of digits.
 */
public final class Bounded {
  private static final double MOST = 10000;
  private static final double MOST_DIGITS = 1000; // to which a number is rounded: of whole ones RoundBase.eval writes them all, its code none
  private static final String EXPONENT = "[eE][+-]?[0-9]{5}"; // of 1E-20000000 Spark makes a decimal of two digits for a minute
  private static final double LEAST_OF_INDEXES = -2147483647; // ElementAt takes Math.abs of one less for small, and reads there

  private Bounded() {}

  /** The expression, raising an error for what is too large; null where it may be, and shows no error. */
  public static Expression raising(Expression expression) {
    return hidden(expression, false) ? null : checked(expression, Math.pow(MOST, 1.0 / Math.max(1, countOfSizes(expression))));
  }

  /** How many parts are as large as a number in a row says: of one within another, or for each element of another, sizes multiply. */
  private static int countOfSizes(Expression expression) {
    int count = !(expression instanceof ElementAt) && here(expression, MOST) != expression ? 1 : 0;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) count += countOfSizes((Expression) children.next());
    return count;
  }

  /** Whether a part of an expression may be too large, and no number in it tells; `caught`: nor would an error. */
  private static boolean hidden(Expression expression, boolean caught) {
    if (expression instanceof Sequence && sizeOf((Sequence) expression) == null) return true;
    if (expression instanceof RoundBase && roundsFar(expression)) return true;
    if (expression instanceof FormatString && !((Expression) expression.children().head()).foldable()) return true; // '%2000000000d'
    if (expression instanceof ArrayAggregate && !isOfOneSize(((ArrayAggregate) expression).merge().dataType())) return true; // concat(sum, sum)
    if (caught && fewDigits(timely(here(expression, MOST))) != expression) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (hidden((Expression) children.next(), caught || expression instanceof TryEval)) return true;
    return false;
  }

  private static boolean roundsFar(Expression round) {
    return !isWithin(Backtracking.constant(number((Expression) round.children().apply(1))), -MOST_DIGITS, MOST_DIGITS);
  }

  /** Whether all values of a type are as large. */
  private static boolean isOfOneSize(DataType type) {
    if (!(type instanceof StructType)) return UnsafeRow.isFixedLength(type) || type instanceof DecimalType;
    StructField[] fields = ((StructType) type).fields();
    for (int i = 0; i < fields.length; i++) if (!isOfOneSize(fields[i].dataType())) return false;
    return true;
  }

  private static Expression checked(Expression expression, final double most) {
    return fewDigits(timely(here((Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return checked((Expression) child, most);
      }
    }), most)));
  }

  /** As `raising`, by text in which a decimal is written with an exponent. A cast is quick. */
  private static Expression fewDigits(Expression expression) {
    boolean parses = expression instanceof JsonToStructs || expression instanceof CsvToStructs || expression instanceof XmlToStructs;
    if (!parses || !expression.dataType().catalogString().contains("decimal")) return expression;
    Expression text = (Expression) expression.children().head();
    return raisingWhere(expression, 0, new RLike(text, new Literal(UTF8String.fromString(EXPONENT), DataTypes.StringType)));
  }

  /** As `raising`, by the length of a text that is matched by a pattern. */
  private static Expression timely(Expression expression) {
    int longest = Backtracking.longest(expression);
    if (longest == Integer.MAX_VALUE) return expression;
    int place = Backtracking.placeOfText(expression);
    return raisingBeyond(expression, place, number(new Length((Expression) expression.children().apply(place))), 0, longest);
  }

  /** As `raising`, by its own operands; `most`: of what is no constant. */
  private static Expression here(Expression expression, double most) {
    if (expression instanceof Sequence) return with(expression, 1, sizeOf((Sequence) expression), -most, most);
    if (expression instanceof ElementAt) return isOfArray(expression) ? with(expression, 1, null, LEAST_OF_INDEXES, Integer.MAX_VALUE) : expression;
    int place = placeOfSize(expression);
    return place < 0 ? expression : with(expression, place, null, -most, most);
  }

  private static boolean isOfArray(Expression elementAt) {
    return ((Expression) elementAt.children().head()).dataType() instanceof ArrayType;
  }

  /** Which operand says how large the result is; -1 where none does. */
  private static int placeOfSize(Expression expression) {
    if (expression instanceof StringSpace) return 0;
    if (expression instanceof StringRepeat || expression instanceof StringLPad || expression instanceof StringRPad) return 1;
    if (expression instanceof ArrayRepeat || expression instanceof ArrayInsert) return 1;
    if (expression instanceof FormatNumber) return ((Expression) expression.children().apply(1)).dataType() instanceof IntegerType ? 1 : -1;
    boolean ofBytes = expression instanceof StaticInvoke && ((StaticInvoke) expression).functionName().endsWith("pad");
    return ofBytes ? 1 : -1;
  }

  /** How far apart the ends of a sequence are, in steps at the smallest; null where these are parts of days. */
  private static Expression sizeOf(Sequence sequence) {
    DataType type = sequence.start().dataType();
    if (type instanceof IntegralType) return new Subtract(number(sequence.stop()), number(sequence.start()));
    return type instanceof DateType ? new DateDiff(sequence.stop(), sequence.start()) : null;
  }

  private static Expression number(Expression expression) {
    return Cast$.MODULE$.apply(expression, DataTypes.DoubleType, scala.Option.empty(), false);
  }

  /** The expression with an operand that raises an error where a size (or the operand itself) is below or above what is allowed. */
  private static Expression with(Expression expression, int place, Expression size, double least, double most) {
    Expression operand = (Expression) expression.children().apply(place);
    Expression number = number(size == null ? operand : size);
    boolean constant = number.foldable() && operand.foldable(); // which the query evaluates by itself
    if (constant && isWithin(Backtracking.constant(number), Math.min(least, -MOST), Math.max(most, MOST))) return expression;
    return raisingBeyond(expression, place, number, least, most);
  }

  private static Expression raisingBeyond(Expression expression, int place, Expression number, double least, double most) {
    return raisingWhere(expression, place, new Or(new LessThan(number, literal(least)), new GreaterThan(number, literal(most))));
  }

  /** The expression with an operand that raises an error where a condition holds. */
  static Expression raisingWhere(Expression expression, int place, Expression beyond) {
    Expression operand = (Expression) expression.children().apply(place);
    Expression text = new Literal(UTF8String.fromString("too large"), DataTypes.StringType);
    Expression none = Cast$.MODULE$.apply(text, DataTypes.IntegerType, scala.Option.apply("UTC"), true); // which it is not
    Expression raised = Cast$.MODULE$.apply(none, operand.dataType(), scala.Option.apply("UTC"), true);
    java.util.List operands = new java.util.ArrayList(scala.jdk.javaapi.CollectionConverters.asJava(expression.children()));
    operands.set(place, new If(beyond, raised, operand));
    return (Expression) expression.withNewChildren(Plans.seq(operands));
  }

  private static boolean isWithin(Object number, double least, double most) {
    return number == null || (((Double) number).doubleValue() >= least && ((Double) number).doubleValue() <= most);
  }

  private static Expression literal(double number) {
    return new Literal(Double.valueOf(number), DataTypes.DoubleType);
  }
}

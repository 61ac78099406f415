package data_skip;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.RLike;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Text that is another moment tomorrow: a time without a date is one of the current day, and where java.text parses, years of two digits
 * are of the century that ends twenty years after today. So is a TIME, where Spark has not put the day in its place: inside of arrays, maps and
 * structs, as `cast(times AS ARRAY<TIMESTAMP_NTZ>)`. What is decided of it may be told again on another day (see Answers), or stand in
 * a plan that is run then.
 */
public final class Undated {
  private static final Set PARSERS = set("Cast JsonToStructs CsvToStructs XmlToStructs VariantGet"); // as steady.py has them
  private static final Set BY_PATTERN = set("GetTimestamp UnixTimestamp ToUnixTimestamp");
  private static final Pattern WITHOUT_DATE = Pattern.compile("\\b(string|char|varchar|variant)\\b");
  private static final Pattern TIMESTAMP = Pattern.compile("\\btimestamp(_ltz)?\\b");
  private static final Pattern TIME = Pattern.compile("\\btime\\(");
  private static final Pattern OF_TIME = Pattern.compile("\\btimestamp(_ltz|_ntz)?\\b"); // of text without a date timestamp_ntz is none
  private static final Pattern SHORT_YEAR = Pattern.compile("(?<!y)y{1,2}(?!y)|(?<!Y)Y{1,2}(?!Y)");
  /** As SparkDateTimeUtils.parseTimestampString finds a time without a date, and some text besides that is none. */
  private static final String TIME_FIRST = "^[\\x00-\\x20\\x7f]*[+-]?(T|[0-9]*:)";

  private Undated() {}

  private static Set set(String names) {
    return new HashSet(Arrays.asList(names.split(" ")));
  }

  /** The expression, raising an error for text without a date; null where it may take such text for a moment of today, and does not show it. */
  public static Expression raising(Expression expression) {
    return hidden(expression, false) ? null : checked(expression);
  }

  /** Whether a part of an expression may be another one tomorrow, and no text that is cast shows it; `caught`: nor would an error. */
  public static boolean hidden(Expression expression, boolean caught) {
    if (isOfToday(expression) && (caught || !isCastText(expression))) return true;
    if (BY_PATTERN.contains(Code.nameOf(expression)) && isLegacy() && mayBeShort((Expression) expression.children().apply(1))) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (hidden((Expression) children.next(), caught || expression instanceof TryEval)) return true;
    return false;
  }

  /** Whether an expression makes timestamps of times, or of something that may be text; or, by java.text, dates of it. */
  public static boolean isOfToday(Expression expression) {
    String name = Code.nameOf(expression);
    if (!PARSERS.contains(name)) return false;
    String made = expression.dataType().catalogString();
    String given = ((Expression) expression.children().head()).dataType().catalogString();
    if (TIME.matcher(given).find() && OF_TIME.matcher(made).find()) return true;
    boolean parsed = !name.equals("Cast") && isLegacy() && made.contains("date");
    return (TIMESTAMP.matcher(made).find() || parsed) && WITHOUT_DATE.matcher(given).find();
  }

  private static boolean isCastText(Expression expression) {
    return expression instanceof Cast && ((Cast) expression).child().dataType() instanceof StringType && expression.dataType() instanceof TimestampType;
  }

  static boolean isLegacy() {
    return SQLConf.get().getConfString("spark.sql.legacy.timeParserPolicy", "EXCEPTION").equalsIgnoreCase("LEGACY");
  }

  private static boolean mayBeShort(Expression pattern) {
    return !(pattern instanceof Literal) || SHORT_YEAR.matcher(String.valueOf(((Literal) pattern).value())).find();
  }

  private static Expression checked(Expression expression) {
    Expression copy = (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return checked((Expression) child);
      }
    });
    if (!isOfToday(copy)) return copy;
    Expression text = ((Cast) copy).child();
    Expression without = new RLike(text, new Literal(UTF8String.fromString(TIME_FIRST), DataTypes.StringType));
    Expression none = new Literal(UTF8String.fromString("no date"), DataTypes.StringType);
    return new If(without, Cast$.MODULE$.apply(none, copy.dataType(), ((Cast) copy).timeZoneId(), true), copy);
  }
}

package data_skip;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Length;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.OctetLength;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.TryEval;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;

/**
 * What goes by the language, the time zone or the names that a JVM has by default: tasks evaluate it by theirs, and where these may be others
 * than here (TaskJvm), what is found here says nothing of a row. Text in ASCII has the same large and small letters everywhere.
 */
public final class Localized {
  private static final Set LETTERS = set("Upper Lower InitCap");
  private static final Set NUMBERS = set("XmlToStructs"); // by NumberFormat, where it is no double of Java
  private static final Set PATTERNS = set( // by names of months and zones, and under LEGACY by calendars of java.util, which have a zone
      "DateFormatClass FromUnixTime GetTimestamp UnixTimestamp ToUnixTimestamp JsonToStructs CsvToStructs XmlToStructs StructsToJson StructsToCsv StructsToXml");

  private static final Set OF_USERS = set("ScalaUDF ApplyFunctionExpression HiveSimpleUDF HiveGenericUDF"); // which may ask for any default

  private Localized() {}

  private static Set set(String names) {
    return new HashSet(Arrays.asList(names.split(" ")));
  }

  /** The expression, raising an error for letters that may be others in a task; null where it may be another there, and no letter shows it. */
  public static Expression raising(Expression expression) {
    boolean sameLanguage = TaskJvm.hasLanguage();
    boolean sameZone = TaskJvm.hasZone();
    boolean samePatterns = TaskJvm.hasNames() && (sameZone || !Undated.isLegacy());
    if (sameLanguage && sameZone && samePatterns) return expression;
    if (hidden(expression, sameLanguage, samePatterns, false)) return null;
    return sameLanguage ? expression : checked(expression);
  }

  /** `caught`: an error would be as good as a value. */
  private static boolean hidden(Expression expression, boolean sameLanguage, boolean samePatterns, boolean caught) {
    String name = Code.nameOf(expression);
    if (OF_USERS.contains(name) || callsUsers(expression)) return true;
    if (!samePatterns && PATTERNS.contains(name)) return true;
    if (!sameLanguage && (NUMBERS.contains(name) || (caught && LETTERS.contains(name)))) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      if (hidden((Expression) children.next(), sameLanguage, samePatterns, caught || expression instanceof TryEval)) return true;
    }
    return false;
  }

  /** Whether a method is called of a class that is not Spark's: of functions of a catalog. */
  private static boolean callsUsers(Expression expression) {
    Class of = expression instanceof StaticInvoke ? ((StaticInvoke) expression).staticObject() : null;
    if (expression instanceof Invoke && ((Invoke) expression).targetObject() instanceof Literal) {
      Object target = ((Literal) ((Invoke) expression).targetObject()).value();
      of = target == null ? null : target.getClass();
    }
    return of != null && !of.getName().startsWith("org.apache.spark.") && !of.getName().startsWith("java.");
  }

  private static Expression checked(Expression expression) {
    Expression copy = (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return checked((Expression) child);
      }
    });
    if (!LETTERS.contains(Code.nameOf(copy))) return copy;
    Expression text = (Expression) copy.children().head();
    return Bounded.raisingWhere(copy, 0, new LessThan(new Length(text), new OctetLength(text)));
  }
}

package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.CsvToStructs;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.HigherOrderFunction;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.ToTimestamp;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/** What of expressions is the same each time: claims, since Spark says `deterministic` also of functions that are not. */
public final class Determinism {
  private static final ClassValue NEAREST = new ClassValue() {
    protected Object computeValue(Class type) {
      return Boolean.valueOf(type.getSimpleName().toUpperCase().contains("KNN"));
    }
  };

  private static final Pattern ZONE = Pattern.compile("^(?:[^']|'[^']*')*[zZ]"); // beside what a pattern of times quotes

  private Determinism() {}

  /**
   * Whether a function gives another value each time, though Spark calls it deterministic: aes_encrypt draws a vector to begin with,
   * from_csv takes a record with odd quotes apart in another way than the first one that it is given, where it leaves out fields, of
   * functions that Spark takes for the same it runs one, and java.text finds the name of a zone where it found the one before: `CST` is a time
   * of China behind `China Standard Time`, and else one of Chicago.
   */
  public static boolean isRandom(Expression expression) {
    if (expression instanceof HigherOrderFunction) return isTakenForOthers(expression, new ArrayList());
    if (expression instanceof CsvToStructs) {
      scala.Option required = ((CsvToStructs) expression).requiredSchema();
      return required.isDefined() && ((StructType) required.get()).length() < ((CsvToStructs) expression).schema().length();
    }
    if (expression instanceof ToTimestamp) return findsZones(expression);
    return expression instanceof StaticInvoke && ((StaticInvoke) expression).functionName().equals("aesEncrypt");
  }

  /** Whether java.text parses text by a pattern with a zone. One that is no constant is read anew for each row. */
  private static boolean findsZones(Expression parser) {
    Expression pattern = (Expression) parser.children().apply(1);
    if (!(((Expression) parser.children().head()).dataType() instanceof StringType) || !pattern.foldable()) return false;
    if (!SQLConf.get().getConfString("spark.sql.legacy.timeParserPolicy", "EXCEPTION").equalsIgnoreCase("LEGACY")) return false;
    return !(pattern instanceof Literal) || ZONE.matcher(String.valueOf(((Literal) pattern).value())).find();
  }

  /**
   * Whether Spark may take a function that is called for elements for another one: where a function inside of it asks for one of several
   * variables around, Spark's form tells them by their places in that (see Alike), as `zip_with(a, b, (x, y) -> exists(c, z -> z > x))` from
   * `... z > y`. Which of them an operator then runs for both depends on what else it evaluates.
   */
  private static boolean isTakenForOthers(Expression expression, List around) {
    List inside = around;
    if (expression instanceof LambdaFunction) {
      for (int i = 0; i < around.size() && around.size() > 1; i++) {
        if (expression.references().contains((NamedExpression) around.get(i))) return true;
      }
      inside = new ArrayList(around);
      inside.addAll(scala.jdk.javaapi.CollectionConverters.asJava(((LambdaFunction) expression).arguments()));
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (isTakenForOthers((Expression) children.next(), inside)) return true;
    return false;
  }

  /** Whether an expression gives a row the same each time, whichever rows are given to it before: Spark says so also of functions that do not. */
  public static boolean holds(Expression expression) {
    if (!expression.deterministic() || isRandom(expression)) return false;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (!holds((Expression) children.next())) return false;
    return true;
  }

  /**
   * Whether an expression says of a row what depends on the other rows of its side: it is among the k nearest, as Sedona's ST_KNN; or a
   * function of all rows of an operator that is made of it later, as ST_DBSCAN.
   */
  public static boolean dependsOnOtherRows(Expression expression) {
    if (NEAREST.get(expression.getClass()) == Boolean.TRUE) return true;
    boolean runElsewhere = expression instanceof Unevaluable && !(expression instanceof PythonUDF) && !(expression instanceof PlanExpression);
    if (runElsewhere && !expression.deterministic()) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (dependsOnOtherRows((Expression) children.next())) return true;
    return false;
  }
}

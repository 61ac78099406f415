package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.ExprId$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.types.IntegralType;

/**
 * Expressions in a form that is equal where they say the same of two plans: each attribute is its place among the plan's columns. Nothing
 * that decides on files asks what a sub-query gives: one is as good as another, and equals no other expression.
 *
 * What stands below an exchange of Spark's is compared in the form by which Spark itself takes plans for equal; what stands above, as it
 * is. For Spark's form is equal of some that are not: it takes `zip_with(a, b, (x, y) -> exists(c, z -> z > x))` and `... z > y` for the
 * same, and the sums of fractions in any order.
 */
public final class Alike {
  private static final int SUBQUERY = -1;

  private Alike() {}

  /** The places of attributes, by their ids. */
  public static Map places(scala.collection.immutable.Seq attributes) {
    Map result = new HashMap();
    for (int i = 0; i < attributes.size(); i++) result.put(((Attribute) attributes.apply(i)).exprId(), new Integer(i));
    return result;
  }

  /** Of each expression the form that is equal for those that Spark takes for equal. */
  public static List toSpark(List expressions, Map places) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) result.add(placed((Expression) expressions.get(i), places).canonicalized());
    return result;
  }

  /** Of each expression the form that is equal for those that are the same but for the numbers of their attributes and variables. */
  public static List exactly(List expressions, Map places) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) {
      result.add(numbered(placed((Expression) expressions.get(i), places), new HashMap(), new AtomicLong()));
    }
    return result;
  }

  /**
   * Whether Spark may take parts of expressions that one operator evaluates for each other, though they are not the same: it evaluates the
   * first for all (EquivalentExpressions), as `a + b + c` for `c + b + a`. Where only operands of comparisons, of AND and OR, of whole numbers,
   * or two of a sum or product are in another order, values are the same.
   */
  public static boolean areMistaken(List expressions) {
    Map known = new HashMap(); // by Spark's form
    for (int i = 0; i < expressions.size(); i++) if (isMistaken((Expression) expressions.get(i), known)) return true;
    return false;
  }

  private static boolean isMistaken(Expression expression, Map known) {
    if (expression.children().isEmpty() || expression instanceof LambdaFunction) return false;
    boolean same = expression instanceof BinaryComparison || expression instanceof And || expression instanceof Or || isOfTwo(expression);
    if (!same && !(expression.dataType() instanceof IntegralType)) {
      Object form = exactly(Collections.singletonList(expression), Collections.EMPTY_MAP).get(0);
      Object other = known.put(expression.canonicalized(), form);
      if (other != null && !other.equals(form)) return true;
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (isMistaken((Expression) children.next(), known)) return true;
    return false;
  }

  private static boolean isOfTwo(Expression sum) {
    if (!(sum instanceof Add) && !(sum instanceof Multiply)) return false;
    Class kind = sum.getClass();
    return !kind.isInstance(sum.children().head()) && !kind.isInstance(sum.children().last());
  }

  /** With the variables of its functions numbered in the order in which they are declared. */
  private static Expression numbered(Expression expression, final Map variables, final AtomicLong declared) {
    if (expression instanceof NamedLambdaVariable) {
      NamedLambdaVariable variable = (NamedLambdaVariable) expression;
      ExprId number = (ExprId) variables.get(variable.exprId());
      return number == null ? variable : new NamedLambdaVariable("", variable.dataType(), variable.nullable(), number, null);
    }
    final Map known = expression instanceof LambdaFunction ? new HashMap(variables) : variables;
    if (expression instanceof LambdaFunction) {
      scala.collection.Iterator arguments = ((LambdaFunction) expression).arguments().iterator();
      while (arguments.hasNext()) {
        known.put(((NamedExpression) arguments.next()).exprId(), ExprId$.MODULE$.apply(declared.getAndIncrement()));
      }
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return numbered((Expression) child, known, declared);
          }
        });
  }

  private static Expression placed(Expression expression, final Map places) {
    if (expression instanceof InSubquery) return expression; // it takes no other expression for its sub-query
    if (expression instanceof PlanExpression) return new BoundReference(SUBQUERY, expression.dataType(), true);
    if (expression instanceof AttributeReference) {
      Integer place = (Integer) places.get(((AttributeReference) expression).exprId());
      return place == null ? expression : new BoundReference(place.intValue(), expression.dataType(), expression.nullable());
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return placed((Expression) child, places);
          }
        });
  }
}

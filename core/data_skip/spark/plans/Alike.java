package data_skip;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.ExprId$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;

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

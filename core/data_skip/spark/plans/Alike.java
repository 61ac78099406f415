package data_skip;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;

/**
 * Expressions in a form that is equal where they say the same of two plans: each attribute is its place among the plan's columns. Nothing
 * that decides on files asks what a sub-query gives: one is as good as another, and equals no other expression.
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

  public static Object of(Expression expression, Map places) {
    return placed(expression, places).canonicalized();
  }

  public static List ofEach(List expressions, Map places) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) result.add(of((Expression) expressions.get(i), places));
    return result;
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

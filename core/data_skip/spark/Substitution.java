package data_skip;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataType;

/** What is said of a column, said of what it is made of. */
public final class Substitution {
  private static final int MOST_GROWTH = 2000;

  private Substitution() {}

  /**
   * The expressions that a Project or the extraction of Python UDFs computes, by the id of the attribute that it gives them; but of functions
   * that meddle with each other nobody knows what they give.
   */
  public static Map computed(LogicalPlan plan) {
    Map result = new HashMap();
    if (plan instanceof Project) {
      scala.collection.Iterator list = ((Project) plan).projectList().iterator();
      while (list.hasNext()) {
        Object named = list.next();
        if (named instanceof Alias) result.put(((Alias) named).exprId(), ((Alias) named).child());
      }
    } else if (plan instanceof BaseEvalPython && !Meddling.between(((BaseEvalPython) plan).udfs())) {
      BaseEvalPython python = (BaseEvalPython) plan;
      for (int i = 0; i < python.udfs().size(); i++) {
        result.put(((NamedExpression) python.resultAttrs().apply(i)).exprId(), python.udfs().apply(i));
      }
    }
    return result;
  }

  /** By the ids of a union's output the attributes that one of its parts gives it. */
  public static Map renamed(LogicalPlan union, LogicalPlan part) {
    Map result = new HashMap();
    for (int i = 0; i < union.output().size(); i++) result.put(((Attribute) union.output().apply(i)).exprId(), part.output().apply(i));
    return result;
  }

  /** Whether types are the same, with fields of the same names, but for what may be NULL. Their texts do not tell: of names like `a:int,b`. */
  public static boolean namesAlike(DataType one, DataType other) {
    return DataType.equalsIgnoreNullability(one, other);
  }

  /**
   * The expressions, with each attribute that `byId` names replaced; without those that would grow by more than MOST_GROWTH nodes. An alias
   * that is used twice, of one that is, and so on, doubles with each: Spark's CollapseProject stops there, too. And without those of structs
   * whose fields have other names below, as in a part of a union, or in the only part that is left: Spark evaluates them by those above.
   */
  public static List substituteAll(List expressions, Map byId) {
    List result = new ArrayList();
    for (int i = 0; i < expressions.size(); i++) {
      Expression expression = (Expression) expressions.get(i);
      if (growth(expression, byId, MOST_GROWTH) >= 0) result.add(substitute(expression, byId));
    }
    return result;
  }

  /** What is left of so many nodes by which an expression may grow; less than 0: nothing, or it would not be the same. */
  private static int growth(Expression expression, Map byId, int left) {
    if (expression instanceof AttributeReference) {
      Object replacement = byId.get(((AttributeReference) expression).exprId());
      if (replacement == null) return left;
      return namesAlike(expression.dataType(), ((Expression) replacement).dataType()) ? less((Expression) replacement, left) : -1;
    }
    for (int i = 0; i < expression.children().size() && left >= 0; i++) left = growth((Expression) expression.children().apply(i), byId, left);
    return left;
  }

  private static int less(Expression expression, int left) {
    left--;
    for (int i = 0; i < expression.children().size() && left >= 0; i++) left = less((Expression) expression.children().apply(i), left);
    return left;
  }

  /** The expression, with each attribute that `byId` names replaced. */
  public static Expression substitute(Expression expression, final Map byId) {
    if (byId.isEmpty()) return expression;
    if (expression instanceof AttributeReference) {
      Object replacement = byId.get(((AttributeReference) expression).exprId());
      return replacement == null ? expression : (Expression) replacement;
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return substitute((Expression) child, byId);
          }
        });
  }
}

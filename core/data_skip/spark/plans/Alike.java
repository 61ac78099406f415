package data_skip;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.ExprId$;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Greatest;
import org.apache.spark.sql.catalyst.expressions.HigherOrderFunction;
import org.apache.spark.sql.catalyst.expressions.InSubquery;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Least;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
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

  /** As below, of all expressions of a plan and its sub-queries: operators that stand on each other Spark makes one of. */
  public static boolean areMistaken(LogicalPlan plan) {
    final List all = new ArrayList();
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            return Boolean.valueOf(all.addAll(scala.jdk.javaapi.CollectionConverters.asJava(((LogicalPlan) node).expressions())));
          }
        });
    if (leavesApart()) for (int i = 0; i < all.size(); i++) if (holdsInexactSums((Expression) all.get(i))) return true;
    boolean asked = false;
    for (int i = 0; !asked && i < all.size(); i++) asked = holdsWhatDependsOnOrder((Expression) all.get(i), null);
    return asked && (areMistaken(all) || areOperatorsMistaken(plan));
  }

  /** Whether operators that stand on each other are made one only after this, so that `p + c` may become `a + b + c`: as the user's settings say. */
  private static boolean leavesApart() {
    scala.Option excluded = SQLConf$.MODULE$.get().optimizerExcludedRules();
    return excluded.isDefined() && (((String) excluded.get()).contains("CollapseProject") || ((String) excluded.get()).contains("PushDownPredicates"));
  }

  private static boolean holdsInexactSums(Expression expression) {
    if (isSum(expression) && isInexact(expression)) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (holdsInexactSums((Expression) children.next())) return true;
    return false;
  }

  /**
   * Whether Spark may take operators for equal, as over two scans of one table, that evaluate what depends on the order in different ones: what
   * stands twice below an exchange it runs once, so that the second gives what the first says. Attributes are told by their places there. What
   * the operators stand on is not asked for: of it Spark compares less than a logical plan tells, as not by which names rows are exploded.
   */
  private static boolean areOperatorsMistaken(LogicalPlan plan) {
    final Map known = new HashMap(); // by Spark's form: the exact one
    final boolean[] mistaken = new boolean[1];
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            List own = dependingOnOrder((LogicalPlan) node);
            for (int i = 0; i < own.size(); i++) {
              Object other = known.put(((Expression) own.get(i)).canonicalized(), own.get(i));
              if (other != null && !other.equals(own.get(i))) mistaken[0] = true;
            }
            return null;
          }
        });
    return mistaken[0];
  }

  /** The parts of an operator's expressions that depend on the order, exactly. */
  private static List dependingOnOrder(LogicalPlan operator) {
    List own = new ArrayList();
    scala.collection.Iterator expressions = operator.expressions().iterator();
    while (expressions.hasNext()) {
      Expression expression = (Expression) expressions.next();
      if (holdsWhatDependsOnOrder(expression, null)) own.add(expression);
    }
    if (own.isEmpty()) return own;
    List below = new ArrayList();
    scala.collection.Iterator children = operator.children().iterator();
    while (children.hasNext()) below.addAll(scala.jdk.javaapi.CollectionConverters.asJava(((LogicalPlan) children.next()).output()));
    List result = new ArrayList();
    List exact = exactly(own, places(Plans.seq(below)));
    for (int i = 0; i < exact.size(); i++) addDependingOnOrder((Expression) exact.get(i), result);
    return result;
  }

  private static void addDependingOnOrder(Expression expression, List found) {
    if (dependsOnOrder(expression)) found.add(expression);
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) addDependingOnOrder((Expression) children.next(), found);
  }

  /**
   * Whether Spark may take parts of expressions that one operator evaluates for each other, though they are not the same: it evaluates the
   * first for all (EquivalentExpressions), as `a + b + c` for `c + b + a`.
   */
  public static boolean areMistaken(List expressions) {
    Map known = new HashMap(); // by Spark's form
    for (int i = 0; i < expressions.size(); i++) if (isMistaken((Expression) expressions.get(i), false, known)) return true;
    return false;
  }

  /** inside: of a function that is called for elements, whose variables are numbered. */
  private static boolean isMistaken(Expression expression, boolean inside, Map known) {
    if (expression instanceof HigherOrderFunction && !inside) {
      return isMistaken(numbered(expression, new HashMap(), new AtomicLong()), true, known);
    }
    if (dependsOnOrder(expression)) {
      Object form = ordered(expression, expression.getClass());
      Object other = known.put(expression.canonicalized(), form);
      if (other != null && !other.equals(form)) return true;
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (isMistaken((Expression) children.next(), inside, known)) return true;
    return false;
  }

  /** The operands as they stand, each in Spark's form. */
  private static Object ordered(Expression expression, Class kind) {
    if (!kind.isInstance(expression)) return expression.canonicalized();
    List result = new ArrayList();
    result.add(isTried(expression) ? "try" : "");
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) result.add(ordered((Expression) children.next(), kind));
    return result;
  }

  /**
   * Whether an expression may give something else for the same operands in another order, in which Spark takes it for the same: sums and
   * products of more than two, but of whole numbers, which wrap, and of decimals that have room; the largest or smallest of what is equal and
   * not the same. What else Spark orders (CommutativeExpression) gives the same, or fails: AND, OR, bits, comparisons.
   */
  public static boolean dependsOnOrder(Expression expression) {
    if (expression instanceof Greatest || expression instanceof Least) return !Plans.exact(expression.dataType());
    return isSum(expression) && !isOfTwo(expression) && isInexact(expression);
  }

  private static boolean isSum(Expression expression) {
    return expression instanceof Add || expression instanceof Multiply;
  }

  private static boolean isInexact(Expression expression) {
    DataType type = expression.dataType();
    if (type instanceof DecimalType) return ((DecimalType) type).precision() >= DecimalType.MAX_PRECISION();
    return !(type instanceof IntegralType) || isTriedAnywhere(expression, expression.getClass());
  }

  /** Whether an expression has a part with some of these attributes (null: with any) that depends on the order. */
  public static boolean holdsWhatDependsOnOrder(Expression expression, AttributeSet attributes) {
    if (dependsOnOrder(expression) && (attributes == null || !expression.references().intersect(attributes).isEmpty())) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (holdsWhatDependsOnOrder((Expression) children.next(), attributes)) return true;
    return false;
  }

  private static boolean isOfTwo(Expression sum) {
    Class kind = sum.getClass();
    return !kind.isInstance(sum.children().head()) && !kind.isInstance(sum.children().last());
  }

  private static boolean isTriedAnywhere(Expression sum, Class kind) {
    if (!kind.isInstance(sum)) return false;
    return isTried(sum) || isTriedAnywhere((Expression) sum.children().head(), kind) || isTriedAnywhere((Expression) sum.children().last(), kind);
  }

  /** Whether it is NULL where it overflows: Spark takes all of a sum for what its last addition is. */
  private static boolean isTried(Expression expression) {
    return expression instanceof BinaryArithmetic && ((BinaryArithmetic) expression).evalMode().toString().equals("TRY");
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

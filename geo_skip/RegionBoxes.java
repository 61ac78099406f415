package geo_skip;

import data_skip.Plans;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedArgumentExpression;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Below a filter by Python's f(region, lat, lng), which is true only of points in the region, another one by the box around the region: no other
 * points go to Python, and Spark's readers get to know the ranges of lat and lng.
 */
public final class RegionBoxes extends Rule {
  private static final List EXACT = Arrays.asList(
      DataTypes.DoubleType, DataTypes.FloatType, DataTypes.LongType, DataTypes.IntegerType, DataTypes.ShortType, DataTypes.ByteType);

  private final Map names;
  private Function box;

  /** `names`: of the functions, by their commands. */
  public RegionBoxes(Map names) {
    this.names = names;
  }

  public String ruleName() {
    return "geo_skip.RegionBoxes";
  }

  /** `box`: of a region its "west south east north", "" where it has none. */
  public void install(org.apache.spark.sql.classic.SparkSession session, Function box) {
    this.box = box;
    List rules = new ArrayList();
    scala.collection.Iterator installed = session.experimental().extraOptimizations().iterator();
    while (installed.hasNext()) {
      Object rule = installed.next();
      if (!rule.getClass().getName().equals(getClass().getName())) rules.add(rule);
    }
    rules.add(0, this); // before rules that look at what filters say
    session.experimental().extraOptimizations_$eq(Plans.seq(rules));
  }

  public TreeNode apply(TreeNode plan) {
    try {
      return rewrite((LogicalPlan) plan);
    } catch (RuntimeException unknown) {
      return plan; // a query that cannot be helped is left as it is
    }
  }

  private LogicalPlan rewrite(LogicalPlan plan) {
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < plan.children().size(); i++) {
      LogicalPlan child = (LogicalPlan) plan.children().apply(i);
      LogicalPlan rewritten = rewrite(child);
      changed |= rewritten != child;
      children.add(rewritten);
    }
    LogicalPlan result = changed ? (LogicalPlan) plan.withNewChildren(Plans.seq(children)) : plan;
    boolean asked = result instanceof Filter && ((Filter) result).child() instanceof ArrowEvalPython;
    return asked ? boxed((Filter) result, (ArrowEvalPython) ((Filter) result).child()) : result;
  }

  private LogicalPlan boxed(Filter filter, ArrowEvalPython python) {
    LogicalPlan below = (LogicalPlan) python.child();
    List known = below instanceof Filter ? Plans.conjuncts(((Filter) below).condition()) : new ArrayList();
    Expression all = null;
    List conjuncts = Plans.conjuncts(filter.condition());
    for (int i = 0; i < conjuncts.size(); i++) {
      List sides = sides(result((Expression) conjuncts.get(i), python), below);
      for (int j = 0; j < sides.size(); j++) {
        Expression side = (Expression) sides.get(j);
        if (!among(side, known)) all = all == null ? side : new And(all, side);
      }
    }
    if (all == null) return filter;
    LogicalPlan fewer = (LogicalPlan) python.withNewChildren(Plans.seq(Arrays.asList(new Object[] {new Filter(all, below)})));
    return (LogicalPlan) filter.withNewChildren(Plans.seq(Arrays.asList(new Object[] {fewer})));
  }

  /** The function whose result a predicate is; null where it is something else. */
  private static PythonUDF result(Expression predicate, ArrowEvalPython python) {
    for (int i = 0; i < python.udfs().size(); i++) {
      if (predicate.semanticEquals((Attribute) python.resultAttrs().apply(i))) return (PythonUDF) python.udfs().apply(i);
    }
    return null;
  }

  /** The four comparisons of lat and lng with the box; none where the function is another, or its arguments are no numbers. */
  private List sides(PythonUDF call, LogicalPlan below) {
    List none = new ArrayList();
    if (call == null || names.get(call.func().command()) == null || call.children().size() != 3) return none;
    if (!(call.children().head() instanceof Literal) || ((Literal) call.children().head()).value() == null) return none;
    Expression lat = number((Expression) call.children().apply(1), below);
    Expression lng = number((Expression) call.children().apply(2), below);
    if (lat == null || lng == null) return none;
    Object region = ((Literal) call.children().head()).value();
    String text = (String) box.apply(region instanceof byte[] ? region : region.toString());
    if (text.isEmpty()) return none;
    String[] corners = text.split(" ");
    return Arrays.asList(new Object[] {
        new GreaterThanOrEqual(lat, corner(corners[1], -0.0)), new LessThanOrEqual(lat, corner(corners[3], 0.0)),
        new GreaterThanOrEqual(lng, corner(corners[0], -0.0)), new LessThanOrEqual(lng, corner(corners[2], 0.0))});
  }

  /** For Parquet, unlike Spark, -0.0 lies below 0.0: `zero` is the outer one. */
  private static Literal corner(String number, double zero) {
    double corner = Double.parseDouble(number);
    return new Literal(Double.valueOf(corner == 0 ? zero : corner), DataTypes.DoubleType);
  }

  /** As the double that Python gets; null where that may be another. */
  private static Expression number(Expression coordinate, LogicalPlan below) {
    DataType type = coordinate.dataType();
    if (!EXACT.contains(type) || !coordinate.deterministic() || !coordinate.references().subsetOf(below.outputSet())) return null;
    if (holdsPython(coordinate) || coordinate instanceof NamedArgumentExpression) return null; // by a name it may stand at any place
    return type == DataTypes.DoubleType ? coordinate : new Cast(coordinate, DataTypes.DoubleType, scala.Option.empty(), Cast.apply$default$4());
  }

  private static boolean holdsPython(Expression expression) {
    if (expression instanceof PythonUDF) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (holdsPython((Expression) children.next())) return true;
    return false;
  }

  private static boolean among(Expression side, List known) {
    for (int i = 0; i < known.size(); i++) if (side.semanticEquals((Expression) known.get(i))) return true;
    return false;
  }
}

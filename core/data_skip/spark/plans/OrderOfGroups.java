package data_skip;

import org.apache.spark.sql.catalyst.expressions.Abs;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.BRound;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cbrt;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Concat;
import org.apache.spark.sql.catalyst.expressions.ConcatWs;
import org.apache.spark.sql.catalyst.expressions.CreateArray;
import org.apache.spark.sql.catalyst.expressions.CreateNamedStruct;
import org.apache.spark.sql.catalyst.expressions.Divide;
import org.apache.spark.sql.catalyst.expressions.Exp;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.FormatNumber;
import org.apache.spark.sql.catalyst.expressions.FormatString;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Greatest;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.Least;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.NaNvl;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Pow;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.expressions.RankLike;
import org.apache.spark.sql.catalyst.expressions.Round;
import org.apache.spark.sql.catalyst.expressions.RowFrame$;
import org.apache.spark.sql.catalyst.expressions.SpecifiedWindowFrame;
import org.apache.spark.sql.catalyst.expressions.Sqrt;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.expressions.ToCharacter;
import org.apache.spark.sql.catalyst.expressions.UnaryMinus;
import org.apache.spark.sql.catalyst.expressions.UnboundedFollowing$;
import org.apache.spark.sql.catalyst.expressions.UnboundedPreceding$;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.WindowFrame;
import org.apache.spark.sql.catalyst.expressions.WindowSpecDefinition;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Average;
import org.apache.spark.sql.catalyst.expressions.aggregate.BloomFilterAggregate;
import org.apache.spark.sql.catalyst.expressions.aggregate.CollectList;
import org.apache.spark.sql.catalyst.expressions.aggregate.Count;
import org.apache.spark.sql.catalyst.expressions.aggregate.First;
import org.apache.spark.sql.catalyst.expressions.aggregate.Last;
import org.apache.spark.sql.catalyst.expressions.aggregate.Max;
import org.apache.spark.sql.catalyst.expressions.aggregate.Min;
import org.apache.spark.sql.catalyst.expressions.aggregate.Sum;
import org.apache.spark.sql.catalyst.expressions.json.StructsToJsonEvaluator;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.InvokeLike;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CollectMetrics;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Offset;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RebalancePartitions;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionOperation;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.execution.datasources.WriteFiles;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.FractionalType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;

/** Of what operators and functions give, whether it goes by the order of the rows that they are given, or by which of them are in one task. */
public final class OrderOfGroups {
  private OrderOfGroups() {}

  /** Whether an operator gives the same rows in any order, if all that it evaluates does. Others, as a LIMIT or mapInPandas, may not. */
  public static boolean isKnown(LogicalPlan plan) {
    boolean byRow = plan instanceof Project || plan instanceof Filter || plan instanceof Expand;
    byRow |= plan instanceof Generate && Generators.givesAlone((Expression) ((Generate) plan).generator());
    boolean many = plan instanceof Join || plan instanceof Union || plan instanceof WithCTE || Groups.of(plan);
    return byRow || many || keepsRows(plan) || isOfConstants(plan);
  }

  /** Whether a LIMIT is one of rows that are all the same, as of EXISTS: it goes by how many there are. */
  private static boolean isOfConstants(LogicalPlan plan) {
    if (!(plan instanceof GlobalLimit) && !(plan instanceof LocalLimit)) return false;
    LogicalPlan below = (LogicalPlan) plan.children().head();
    if (!(below instanceof Project)) return isOfConstants(below);
    scala.collection.Iterator list = ((Project) below).projectList().iterator();
    while (list.hasNext()) {
      Object named = list.next();
      if (!(named instanceof Alias) || !((Alias) named).child().foldable()) return false;
    }
    return true;
  }

  /** Whether what an operator is given is the query's result, or what of it is shown or written, if what the operator gives is. */
  public static boolean onlyShows(LogicalPlan plan) {
    boolean some = plan instanceof GlobalLimit || plan instanceof LocalLimit || plan instanceof Offset;
    return some || plan instanceof Project || plan instanceof WithCTE || plan instanceof Command || plan instanceof WriteFiles || keepsRows(plan);
  }

  /** Whether any of the texts that a collation takes for the same may stand for a group, as the order has it. Of 0.0 and -0.0 Spark makes one. */
  public static boolean showsAny(LogicalPlan plan) {
    if (!(plan instanceof Aggregate)) return false;
    scala.collection.Iterator keys = ((Aggregate) plan).groupingExpressions().iterator();
    while (keys.hasNext()) if (!UnsafeRowUtils.isBinaryStable(((Expression) keys.next()).dataType())) return true;
    return false;
  }

  /** Whether an operator gives all rows that it is given, and no others. */
  private static boolean keepsRows(LogicalPlan plan) {
    boolean moves = plan instanceof Sort || plan instanceof RepartitionOperation || plan instanceof RebalancePartitions;
    boolean names = plan instanceof SubqueryAlias || plan instanceof CTERelationDef;
    return moves || names || plan instanceof BaseEvalPython || plan instanceof CollectMetrics;
  }

  /**
   * Whether an expression holds a function of many rows that goes by their order, or one that numbers or draws for each by its place, or may, as one
   * of users.
   */
  public static boolean counts(Expression expression) {
    if (Sampled.draws(expression) || mayGoByOthers(expression)) return true;
    if (expression instanceof WindowExpression) return !isSure((WindowExpression) expression);
    if (expression instanceof AggregateExpression) {
      Object function = ((AggregateExpression) expression).aggregateFunction();
      if (function instanceof BloomFilterAggregate) return false; // of its bits each is set by some row
      return !Repeatable.exact((Expression) function) || Repeatable.isRealExtreme((Expression) function); // the smallest of 0.0 and -0.0 is the first
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (counts((Expression) children.next())) return true;
    return false;
  }

  /**
   * Whether an expression may compare values that it is given with each other, as a boolean does, count(DISTINCT s), array_position(array(a), b) or
   * a - b, of which nothing is left where they are alike: not one that is given a single value, or shows them side by side, as a / b, or adds them,
   * unless one of them may be negated.
   */
  public static boolean compares(Expression expression, boolean negated) {
    if (hasNoType(expression)) return false;
    if (expression.dataType() instanceof BooleanType) return true;
    if (expression instanceof AggregateExpression) {
      AggregateExpression aggregate = (AggregateExpression) expression;
      return aggregate.isDistinct() || !shows(aggregate.aggregateFunction()) && (negated || !adds(aggregate.aggregateFunction()));
    }
    return values(expression) > 1 && !shows(expression) && (negated || !adds(expression));
  }

  /**
   * Whether an expression may show by another whole that of what it is given a last digit is another: floor(a / b) is 0 for a 1, and of a / b - 1
   * nothing is left. Then it compares what is made of several values below it. negated: as of a / b + -1.
   */
  public static boolean cuts(Expression expression, boolean negated) {
    if (hasNoType(expression) || expression instanceof AggregateExpression || shows(expression)) return false;
    if (adds(expression)) return negated && expression instanceof Add;
    boolean keeps = rounds(expression) || expression instanceof Cast && !makesWhole((Cast) expression);
    keeps |= expression instanceof FormatNumber || expression instanceof ToCharacter;
    keeps |= expression instanceof UnaryMinus || expression instanceof Abs || expression instanceof Sqrt || expression instanceof Cbrt;
    keeps |= expression instanceof Exp || expression instanceof Pow && ((Pow) expression).right().foldable();
    return !keeps && !(expression instanceof NamedExpression) && !(expression instanceof GetStructField);
  }

  /** Whether a cast may show another whole where a last digit is another: not where that is rounded already, as by int(round(100 * a / b)). */
  private static boolean makesWhole(Cast cast) {
    return !(cast.dataType() instanceof FractionalType || cast.dataType() instanceof StringType || rounds(cast.child()));
  }

  private static boolean rounds(Expression expression) {
    return expression instanceof Round || expression instanceof BRound;
  }

  /** Whether an expression makes one value of several. */
  public static boolean combines(Expression expression) {
    return !hasNoType(expression) && !(expression instanceof AggregateExpression) && (values(expression) > 1 || expression instanceof CollectList);
  }

  /**
   * Whether an expression may negate what others that add are given: -x, x - 6, or a negative constant, but not where it is only compared. ofSums:
   * whether it may be given what goes by the order: a product of that and a column may be of any sign.
   */
  public static boolean negates(Expression expression, boolean ofSums) {
    if (!hasNoType(expression) && expression.dataType() instanceof BooleanType) return false;
    if (expression instanceof UnaryMinus || expression instanceof Subtract) return true;
    if (ofSums && expression instanceof Multiply && values(expression) > 1) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) {
      Expression child = (Expression) children.next();
      if (isNegative(child) || negates(child, ofSums)) return true;
    }
    return false;
  }

  /** Whether an expression, and all in it, is of no fractions. */
  public static boolean isWhole(Expression expression) {
    if (!hasNoType(expression) && expression.dataType() instanceof FractionalType) return false;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (!isWhole((Expression) children.next())) return false;
    return !(expression instanceof SubqueryExpression);
  }

  private static boolean isNegative(Expression expression) {
    if (!(expression instanceof Literal) || !(expression.dataType() instanceof NumericType)) return false;
    return String.valueOf(((Literal) expression).value()).startsWith("-");
  }

  private static boolean hasNoType(Expression expression) {
    return expression instanceof WindowSpecDefinition || expression instanceof WindowFrame;
  }

  /** How many values that are not constant an expression is given. */
  private static int values(Expression expression) {
    int values = 0;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (!((Expression) children.next()).foldable()) values++;
    return values;
  }

  private static boolean shows(Expression function) {
    boolean extreme = function instanceof Min || function instanceof Max || function instanceof Greatest || function instanceof Least;
    if (extreme) return function.dataType() instanceof AtomicType; // of (s, id) an id is shown by s
    boolean takes = function instanceof Count || function instanceof First || function instanceof Last || function instanceof WindowExpression;
    boolean chooses = function instanceof If || function instanceof CaseWhen; // by booleans, and by NULLs and NaN:
    chooses |= function instanceof Coalesce || function instanceof NaNvl;
    boolean lists = function instanceof CreateNamedStruct || function instanceof CreateArray || function instanceof CollectList;
    boolean writes = function instanceof Concat || function instanceof ConcatWs || function instanceof FormatString || isToJson(function);
    return takes || chooses || lists || writes || function instanceof Multiply || function instanceof Divide;
  }

  private static boolean isToJson(Expression function) {
    if (!(function instanceof Invoke) || !(((Invoke) function).targetObject() instanceof Literal)) return false;
    return ((Literal) ((Invoke) function).targetObject()).value() instanceof StructsToJsonEvaluator;
  }

  /** Whether an expression adds values that it is given, or those of several rows. */
  public static boolean adds(Expression expression) {
    if (expression instanceof AggregateExpression) return adds((Expression) ((AggregateExpression) expression).aggregateFunction());
    return expression instanceof Add || expression instanceof Sum || expression instanceof Average;
  }

  /** Whether a function of users is not deterministic, so that it may count or ask for its task, or is given many rows at once. */
  private static boolean mayGoByOthers(Expression function) {
    boolean ofUsers = function instanceof UserDefinedExpression || function instanceof InvokeLike;
    if (ofUsers && !function.deterministic()) return true;
    return function instanceof PythonUDF && PythonResults.areGivenOthers((PythonUDF) function);
  }

  /** Of rows that the order of a window takes for equal, as rank() does: by rows counted, as of ROWS BETWEEN, one is before the other. */
  private static boolean isSure(WindowExpression window) {
    Expression function = window.windowFunction();
    if (function instanceof RankLike) return true;
    if (!(function instanceof AggregateExpression) || counts(function)) return false;
    if (!(window.windowSpec().frameSpecification() instanceof SpecifiedWindowFrame)) return false;
    SpecifiedWindowFrame frame = (SpecifiedWindowFrame) window.windowSpec().frameSpecification();
    boolean whole = frame.lower() == UnboundedPreceding$.MODULE$ && frame.upper() == UnboundedFollowing$.MODULE$;
    return whole || frame.frameType() != RowFrame$.MODULE$;
  }
}

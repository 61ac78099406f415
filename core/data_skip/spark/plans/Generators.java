package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.ArrayExists;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Explode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Inline;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.MapEntries;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PosExplode;
import org.apache.spark.sql.catalyst.expressions.Unevaluable;
import org.apache.spark.sql.catalyst.expressions.UserDefinedGenerator;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.MapType;

/** What a predicate on the rows that explode, posexplode or inline gives says of the rows below: some element satisfies it. */
public final class Generators {
  private Generators() {}

  /**
   * Whether a generator gives a row the same without others, as Spark's own do. Those of users may count their rows, and at the end give more that
   * stand beside the last one, as Hive's: Spark calls them deterministic all the same.
   */
  public static boolean givesAlone(Expression generator) {
    boolean runsOthers = generator instanceof UserDefinedGenerator || generator instanceof Unevaluable;
    return !runsOthers && Code.isOfCatalyst(generator);
  }

  /** The predicates as one of the rows below, `exists(array, x -> ...)`; none where they say nothing of generated columns, or it is unknown. */
  public static List below(Generate generate, List predicates) {
    Expression array = array((Expression) generate.generator());
    if (array == null) return Collections.EMPTY_LIST;
    ArrayType type = (ArrayType) array.dataType();
    NamedLambdaVariable element =
        new NamedLambdaVariable("element", type.elementType(), type.containsNull(), NamedExpression$.MODULE$.newExprId(), new AtomicReference());
    Map generated = generated(generate, element);
    Expression body = null;
    for (int i = 0; i < predicates.size(); i++) {
      List parts = Plans.conjuncts((Expression) predicates.get(i));
      for (int j = 0; j < parts.size(); j++) {
        Expression part = (Expression) parts.get(j);
        if (!speaksOf(part, generate, generated) || !Determinism.holds(part)) continue;
        if (generate.outer() && mayHoldOfNull(part, generated)) continue;
        List about = Substitution.substituteAll(Collections.singletonList(part), generated);
        if (!about.isEmpty()) body = body == null ? (Expression) about.get(0) : new And(body, (Expression) about.get(0));
      }
    }
    if (body == null) return Collections.EMPTY_LIST;
    LambdaFunction some = new LambdaFunction(body, Plans.seq(Collections.singletonList(element)), false);
    return Collections.singletonList(new ArrayExists(array, some, true));
  }

  /**
   * What is true of the rows of one side of a join that meet a row of the other, where that has filtered the elements of an array that
   * the join finds equal. Spark makes such joins of `EXISTS (SELECT 1 FROM explode(t.a) AS e(x) WHERE x > 5)`.
   */
  public static List ofJoin(List conditions, LogicalPlan side, LogicalPlan other) {
    Map equal = new HashMap();
    for (int i = 0; i < conditions.size(); i++) {
      if (!(conditions.get(i) instanceof EqualTo) && !(conditions.get(i) instanceof EqualNullSafe)) continue;
      Expression left = (Expression) ((BinaryComparison) conditions.get(i)).left();
      Expression right = (Expression) ((BinaryComparison) conditions.get(i)).right();
      addEqual(left, right, side, other, equal);
      addEqual(right, left, side, other, equal);
    }
    List result = new ArrayList();
    List some = equal.isEmpty() ? new ArrayList() : Substitution.substituteAll(filtered(other), equal);
    for (int i = 0; i < some.size(); i++) {
      Expression about = (Expression) some.get(i);
      if (about.references().subsetOf(side.outputSet()) && !Alike.holdsWhatDependsOnOrder(about, null)) result.add(about);
    }
    return result;
  }

  private static void addEqual(Expression mine, Expression theirs, LogicalPlan side, LogicalPlan other, Map equal) {
    if (!(mine instanceof Attribute) || !(theirs instanceof Attribute) || !Groups.exact(mine.dataType())) return;
    if (side.outputSet().contains((Attribute) mine) && other.outputSet().contains((Attribute) theirs)) {
      equal.put(((Attribute) theirs).exprId(), mine);
    }
  }

  /** What is true of all rows of a plan as filters ask it of the elements that generators give. */
  private static List filtered(LogicalPlan plan) {
    List result = new ArrayList();
    List predicates = new ArrayList();
    while (plan instanceof Filter || plan instanceof Generate || plan instanceof Project) {
      if (plan instanceof Filter) {
        predicates.add(((Filter) plan).condition());
      } else if (plan instanceof Generate) {
        result.addAll(below((Generate) plan, predicates));
      } else {
        predicates = Substitution.substituteAll(predicates, Substitution.computed(plan));
      }
      plan = (LogicalPlan) plan.children().head();
    }
    return result;
  }

  /** The array whose elements a generator gives; of a map its entries; null of another generator. */
  private static Expression array(Expression generator) {
    if (!(generator instanceof Explode) && !(generator instanceof PosExplode) && !(generator instanceof Inline)) return null;
    Expression collection = (Expression) generator.children().head();
    if (!Determinism.holds(collection)) return null;
    return collection.dataType() instanceof MapType ? new MapEntries(collection) : collection;
  }

  /** The columns that a generator gives, by id, as expressions about an element. */
  private static Map generated(Generate generate, NamedLambdaVariable element) {
    Map result = new HashMap();
    scala.collection.immutable.Seq output = generate.generatorOutput();
    Object generator = generate.generator();
    int first = generator instanceof PosExplode ? 1 : 0;
    boolean whole = !(generator instanceof Inline) && output.size() == first + 1;
    for (int i = first; i < output.size(); i++) {
      Expression field = whole ? (Expression) element : new GetStructField(element, i - first, scala.Option.apply(null));
      result.put(((Attribute) output.apply(i)).exprId(), field);
    }
    return result;
  }

  /** Whether a predicate speaks of an element, and else of columns below only: not of the position that posexplode gives. */
  private static boolean speaksOf(Expression part, Generate generate, Map generated) {
    boolean found = false;
    scala.collection.Iterator references = part.references().iterator();
    while (references.hasNext()) {
      Attribute reference = (Attribute) references.next();
      if (generated.containsKey(reference.exprId())) found = true;
      else if (!generate.child().outputSet().contains(reference)) return false;
    }
    return found;
  }

  /** OUTER gives a row of NULLs where there is no element: whether that may satisfy a predicate. */
  private static boolean mayHoldOfNull(Expression part, Map generated) {
    Map nulls = new HashMap();
    java.util.Iterator ids = generated.keySet().iterator();
    while (ids.hasNext()) {
      Object id = ids.next();
      nulls.put(id, new Literal(null, ((Expression) generated.get(id)).dataType()));
    }
    Expression bound = Substitution.substitute(part, nulls);
    Literal known = Evaluator.literal(bound);
    return known == null || Boolean.TRUE.equals(known.value());
  }
}

package data_skip;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sample;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * The way from the root of a plan, and of each of its sub-queries, down to the scans: what is known of the rows at each place.
 *
 * What stands twice below an exchange Spark runs once, and knows it by equality. So equal plans below exchanges are given the same: what
 * would be known of each of them alike. And the filtering side of dynamic partition pruning, which Spark repeats where it prunes, stays the
 * side of the join that it was made from, so that its broadcast serves both. Below a sample nothing is known (Sampled): which rows it takes
 * depends on how files are put together, and those of one `randomSplit` fit each other only where all of them read the same files.
 */
public final class Descent {
  private final BiFunction wrap;
  private final List places = new ArrayList();

  private Descent(BiFunction wrap) {
    this.wrap = wrap;
  }

  /**
   * The plan with each scan as `wrap` gives it: (LogicalRelation, its Place) -> LogicalPlan. mistaken: as of isMistaken; of no rows is
   * known then what Spark finds true of them. ordered: as of OrderOfRows.
   */
  public static LogicalPlan rewritten(LogicalPlan plan, boolean mistaken, Set sampled, Set[] ordered, BiFunction wrap) {
    Descent descent = new Descent(wrap);
    Place root = descent.place(plan, AsRun.of(plan), null, 0);
    if (!mistaken) descent.descend(sampled);
    FilesRead.giveTheSame(descent.places, ordered[0], ordered[1]);
    LogicalPlan rewritten = descent.rewritten(root);
    return rewritten != plan && FoldersReadTwice.among(descent.places) ? plan : rewritten; // which looks at every file: last, and if there is an index
  }

  /** Whether Spark takes expressions of a plan, as it runs, for each other that are not the same. */
  public static boolean isMistaken(LogicalPlan plan) {
    return Alike.areMistaken(AsRun.withoutPruning(plan));
  }

  private Place place(LogicalPlan plan, LogicalPlan asks, Place parent, int side) {
    Place place = new Place(plan, asks, parent, side);
    boolean leftOut = Compared.leavesOut(asks);
    place.shape = leftOut ? 0 : plan.getClass().hashCode() + (plan.children().isEmpty() ? plan.output().size() : 0);
    place.byRow = plan.children().isEmpty() ? !(plan instanceof CTERelationRef) : isByRow(plan);
    for (int i = 0; i < plan.children().size(); i++) {
      Place child = place((LogicalPlan) plan.children().apply(i), (LogicalPlan) asks.children().apply(i), place, i);
      place.children.add(child);
      place.byRow = place.byRow && child.byRow;
      place.height = Math.max(place.height, child.height + (leftOut ? 0 : 1));
      place.shape = 31 * place.shape + child.shape;
    }
    if (plan.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) { // or one below it does
      scala.collection.Iterator expressions = plan.expressions().iterator();
      while (expressions.hasNext()) addSubqueries((Expression) expressions.next(), place);
    }
    places.add(place);
    return place;
  }

  private void addSubqueries(Expression expression, Place place) {
    if (!expression.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) return;
    if (expression instanceof SubqueryExpression) {
      LogicalPlan query = (LogicalPlan) ((SubqueryExpression) expression).plan();
      Place repeating = expression instanceof DynamicPruning ? besideSide(place, query) : null;
      if (repeating != null) place.repeating.put(expression, repeating);
      else place.subqueries.put(expression, place(query, AsRun.of(query), null, 0));
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) addSubqueries((Expression) children.next(), place);
  }

  /**
   * Highest places first: equal plans are of one height, and all that stands above them is higher, but for what is left out of comparisons (Compared).
   * What no exchange is above comes last of its height, so that this is given to what stands on it before.
   */
  private void descend(Set sampled) {
    Collections.sort(places, new Comparator() {
      public int compare(Object one, Object other) {
        return ((Place) other).height - ((Place) one).height;
      }
    });
    for (int start = 0, end = 0; start < places.size(); start = end) {
      List exchanged = new ArrayList();
      for (; end < places.size() && ((Place) places.get(end)).height == ((Place) places.get(start)).height; end++) {
        Place place = (Place) places.get(end);
        if (place.parent == null || !isExchanged(place)) continue;
        give(place, sampled);
        exchanged.add(place);
      }
      giveTheSame(exchanged);
      for (int i = end - 1; i >= start; i--) { // children come before their parents
        Place place = (Place) places.get(i);
        if (place.parent != null && !isExchanged(place)) give(place, sampled);
      }
    }
  }

  /** Gives a place what is known by its parent. */
  private static void give(Place place, Set sampled) {
    place.sampled = place.parent.sampled || sampled.contains(place.parent.plan);
    PushedDown below = place.sampled ? PushedDown.NOTHING : Operators.below(place.parent.asks, place.side, place.parent.given);
    place.given = below.isEmpty() ? below : below.about(place.asks.outputSet());
  }

  /**
   * Whether Spark may put an exchange between an operator and its parent: not where that surely takes rows as they lie. A part of a union below an
   * exchange is asked for by itself, where another part does more: of that Spark may plan the same though it is another logical plan, as without a
   * sort, or a repartitioning, that is there already.
   */
  private static boolean isExchanged(Place place) {
    return !isByRow(place.parent.plan) || isBesideOthers(place) && isBelowExchange(place);
  }

  private static boolean isByRow(LogicalPlan plan) {
    boolean byRow = plan instanceof Project || plan instanceof Filter || plan instanceof Generate || plan instanceof Expand;
    return byRow || plan instanceof Union || plan instanceof Sample || plan instanceof LocalLimit || plan instanceof BaseEvalPython;
  }

  private static boolean isBesideOthers(Place place) {
    return place.parent != null && place.parent.plan instanceof Union && !place.parent.byRow;
  }

  private static boolean isBelowExchange(Place place) {
    Place at = place;
    while (at.parent != null && isByRow(at.parent.plan)) at = at.parent;
    return at.parent != null;
  }

  /** Leaves of what is given to equal plans what is given to all of them. Of few it has to be found out whether they are. */
  private static void giveTheSame(List places) {
    java.util.Iterator alike = grouped(places, false).iterator();
    while (alike.hasNext()) {
      List some = (List) alike.next();
      boolean given = false;
      boolean sampled = false;
      boolean all = true;
      for (int i = 0; i < some.size(); i++) {
        Place place = (Place) some.get(i);
        given = given || !place.given.isEmpty();
        sampled = sampled || place.sampled;
        all = all && place.sampled;
      }
      if ((given || sampled && !all) && some.size() > 1) giveGroupsTheSame(grouped(some, true));
    }
  }

  /** Lists of places: by what is compared of them, or by the shapes of their plans. */
  private static Collection grouped(List places, boolean exactly) {
    Map groups = new HashMap();
    for (int i = 0; i < places.size(); i++) {
      Place place = (Place) places.get(i);
      Object key = exactly ? compared(place) : new Integer(place.shape);
      if (!groups.containsKey(key)) groups.put(key, new ArrayList());
      ((List) groups.get(key)).add(place);
    }
    return groups.values();
  }

  /** The plan, and of a part of a union that is compared by itself what the whole reads. */
  private static Object compared(Place place) {
    List compared = new ArrayList();
    compared.add(place.compared().canonicalized());
    scala.collection.Iterator leaves = isBesideOthers(place) ? place.parent.plan.collectLeaves().iterator() : scala.collection.Iterator$.MODULE$.empty();
    while (leaves.hasNext()) {
      Object leaf = leaves.next();
      compared.add(leaf instanceof LogicalRelation ? ((LogicalRelation) leaf).relation() : leaf.getClass());
    }
    return compared;
  }

  private static void giveGroupsTheSame(Collection groups) {
    java.util.Iterator each = groups.iterator();
    while (each.hasNext()) {
      List group = (List) each.next();
      boolean sampled = false; // then all that stands below is as well
      for (int i = 0; i < group.size(); i++) sampled = sampled || ((Place) group.get(i)).sampled;
      for (int i = 0; i < group.size(); i++) ((Place) group.get(i)).sampled = sampled;
      for (int i = 1; i < group.size(); i++) meet((Place) group.get(0), (Place) group.get(i));
      for (int i = 1; i < group.size(); i++) meet((Place) group.get(i), (Place) group.get(0));
    }
  }

  /** Leaves of what the first is given what the second is given as well. */
  private static void meet(Place one, Place other) {
    one.given = one.given.among(other.given, Alike.places(one.compared().output()), Alike.places(other.compared().output()));
  }

  private LogicalPlan rewritten(Place place) {
    if (place.rewritten != null) return place.rewritten;
    place.rewritten = place.plan instanceof LogicalRelation ? (LogicalPlan) wrap.apply(place.plan, place) : withSubqueries(place, withChildren(place));
    return place.rewritten;
  }

  private LogicalPlan withChildren(Place place) {
    List children = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < place.children.size(); i++) {
      children.add(rewritten(place.child(i)));
      changed = changed || children.get(i) != place.child(i).plan;
    }
    return changed ? (LogicalPlan) place.plan.withNewChildren(Plans.seq(children)) : place.plan;
  }

  private LogicalPlan withSubqueries(final Place place, LogicalPlan plan) {
    if (place.subqueries.isEmpty() && place.repeating.isEmpty()) return plan;
    return (LogicalPlan) plan.mapExpressions(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object expression) {
            return withSubqueries(place, (Expression) expression);
          }
        });
  }

  private Expression withSubqueries(final Place place, Expression expression) {
    if (!expression.containsPattern(TreePattern$.MODULE$.PLAN_EXPRESSION())) return expression;
    Place beside = (Place) place.repeating.get(expression);
    Place query = beside == null ? (Place) place.subqueries.get(expression) : beside.parent.child(1 - beside.side);
    if (query != null) {
      LogicalPlan rewritten = rewritten(query);
      if (rewritten == query.plan) return expression;
      Place source = expression instanceof DynamicPruning ? PruningValues.source(expression, query) : null;
      Expression other = (Expression) ((SubqueryExpression) expression).withNewPlan(rewritten);
      return source == null ? other : PruningValues.by(rewritten(source), other);
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return withSubqueries(place, (Expression) child);
          }
        });
  }

  /** The side, that a place is on, of a join whose other side has the very columns of a plan: no other operator has their ids. */
  private static Place besideSide(Place place, LogicalPlan plan) {
    for (Place at = place; at.parent != null; at = at.parent) {
      if (!(at.parent.plan instanceof Join)) continue;
      LogicalPlan other = (LogicalPlan) at.parent.plan.children().apply(1 - at.side);
      if (other.outputSet().equals(plan.outputSet()) && other.canonicalized().equals(plan.canonicalized())) return at;
    }
    return null;
  }
}

package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.GlobalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Sort;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * The scans of a query that have to read the same files. What some operators give goes by the order of rows, and by which of them are in one task:
 * the last digits of a sum of fractions, which row `first(x)` or row_number() takes where many are alike, a LIMIT. Spark cuts large files by how
 * much it reads in all: with files skipped, one task has other rows. That is as good as before, unless a query compares what two parts of it
 * give for the same rows, as one that joins such a sum with itself: of these, one must not skip more than the other.
 *
 * Which are compared is not followed. It is enough that two operators over one table are asked for: that what they give is spoken of by a condition,
 * a key or what compares, or that it goes by them which rows a filter, a join or another operator is given. What is only shown is not. An operator at two
 * places is two, though the optimizer leaves the same object at both: as where it puts what stands outside of a correlated sub-query into that.
 */
public final class OrderOfRows {
  private final Set asked = new HashSet(); // the ids of attributes that are spoken of
  private final Set cut = new HashSet(); // and of those of which a last digit may be shown by a whole: see OrderOfGroups.cuts
  private final Map shared = new HashMap(); // by the number of a WITH, its plan
  private final List operators = new ArrayList(); // that go by the order of rows and are asked for, as often as they stand in the plan
  private final List below = new ArrayList(); // of each the scans below it, as places
  private final List places = new ArrayList(); // of scans: a ScanAt each

  private final LogicalPlan whole; // null: only the places of scans are asked for
  private Boolean negated; // whether what is added may be subtracted by that; null: nothing that adds was met yet

  private OrderOfRows(LogicalPlan whole) {
    this.whole = whole;
  }

  /** The scans, by identity, that may be given only what all of the same folder are given; and those that may be given nothing. */
  public static Set[] of(LogicalPlan plan) {
    OrderOfRows order = new OrderOfRows(plan);
    order.follow(plan, false);
    Set met = identities();
    Set[] found = {identities(), identities()};
    for (int i = 0; i < order.operators.size(); i++) for (int j = 0; j < order.operators.size(); j++) if (i != j) order.meet(i, j, met, found[1]);
    for (java.util.Iterator each = met.iterator(); each.hasNext();) {
      ScanAt one = (ScanAt) each.next();
      found[0].add(one.scan);
      for (int i = 0; i < order.places.size(); i++) { // others of that folder as well: what Spark takes for equal stays so
        ScanAt other = (ScanAt) order.places.get(i);
        if (!other.readsAll() && one.overlaps(other)) found[0].add(other.scan);
      }
    }
    return found;
  }

  private boolean isNegated() {
    if (negated == null) negated = Boolean.valueOf(whole != null && holdsNegated(whole, result(whole)));
    return negated.booleanValue();
  }

  /** The operator that makes the rows that a query gives. */
  private static LogicalPlan result(LogicalPlan plan) {
    boolean above = plan instanceof Sort || plan instanceof GlobalLimit || plan instanceof LocalLimit;
    return above ? result((LogicalPlan) plan.children().head()) : plan;
  }

  /**
   * Whether anything in a plan may be the negative of what else is added; nothing tells of what a checkpoint was made. result: the operator of which
   * nothing is added any more: a difference of whole numbers is none of fractions there.
   */
  private static boolean holdsNegated(LogicalPlan plan, final LogicalPlan result) {
    final boolean[] found = new boolean[2]; // the other: whether what goes by the order is below; operators come after those that they stand on
    foreachUp(
        plan,
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            if (node instanceof InMemoryRelation) found[0] = found[0] || holdsNegated(Plans.cached((InMemoryRelation) node), null);
            found[0] = found[0] || Sampled.isCheckpoint((LogicalPlan) node);
            scala.collection.Iterator expressions = ((LogicalPlan) node).expressions().iterator();
            while (!found[0] && expressions.hasNext()) {
              Expression expression = (Expression) expressions.next();
              found[0] = !(node == result && OrderOfGroups.isWhole(expression)) && OrderOfGroups.negates(expression, found[1]);
            }
            found[1] = found[1] || goesByOrder((LogicalPlan) node);
            return null;
          }
        });
    return found[0];
  }

  /** The operators of a plan, each after all that it stands on and after its sub-queries. */
  private static void foreachUp(LogicalPlan plan, scala.Function1 function) {
    scala.collection.Iterator queries = plan.subqueries().iterator();
    while (queries.hasNext()) foreachUp((LogicalPlan) queries.next(), function);
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) foreachUp((LogicalPlan) children.next(), function);
    function.apply(plan);
  }

  private static Set identities() {
    return Collections.newSetFromMap(new IdentityHashMap());
  }

  /** A scan at one of the places where it stands. */
  private static final class ScanAt {
    private final LogicalPlan scan;
    private List folders; // once it is asked for

    private ScanAt(LogicalPlan scan) {
      this.scan = scan;
    }

    /** Whether nothing skips files of it, as Hive reads a folder, or a reader of Data Source V2. */
    private boolean readsAll() {
      return !(scan instanceof LogicalRelation);
    }

    private boolean overlaps(ScanAt other) {
      return FilesRead.overlap(folders(), other.folders());
    }

    private List folders() {
      if (folders == null) folders = FilesRead.folders(scan);
      return folders;
    }
  }

  /** Tells of the scans below one operator (met) and below another. One may stand below the other: what that reads besides has to fit as well. */
  private void meet(int one, int other, Set met, Set none) {
    List mine = (List) below.get(one);
    List theirs = (List) below.get(other);
    boolean ofAny = Sampled.isCheckpoint((LogicalPlan) operators.get(one)); // nothing tells what it was made of
    for (int j = 0; j < theirs.size(); j++) {
      ScanAt place = (ScanAt) theirs.get(j);
      if (place.readsAll()) continue;
      if (!ofAny && !overlaps(mine, place, false)) continue;
      met.add(place);
      boolean kept = ofAny || operators.get(one) instanceof InMemoryRelation; // of what was kept all files were read, perhaps
      if (kept || overlaps(mine, place, true)) none.add(place.scan);
    }
  }

  /** Whether one of some scans, or of those that read all files, reads a folder of another one. */
  private static boolean overlaps(List scans, ScanAt place, boolean ofAll) {
    for (int i = 0; i < scans.size(); i++) {
      ScanAt one = (ScanAt) scans.get(i);
      if (one != place && (!ofAll || one.readsAll()) && one.overlaps(place)) return true;
    }
    return false;
  }

  /** Goes through a plan from its root. chosen: whether it matters which rows it has, beside what is shown. Gives the scans below, as places. */
  private List follow(LogicalPlan plan, boolean chosen) {
    boolean gives = Groups.of(plan) || plan instanceof Project || plan instanceof BaseEvalPython; // a row, whatever stands in it
    boolean isAsked = goesByOrder(plan) && (chosen && !gives || isSpokenOf(plan));
    List scans = new ArrayList();
    if (plan instanceof LogicalRelation || plan instanceof HiveTableRelation || plan instanceof DataSourceV2ScanRelation) scans.add(new ScanAt(plan));
    if (plan instanceof InMemoryRelation) scans.addAll(scans(Plans.cached((InMemoryRelation) plan)));
    places.addAll(scans);
    if (plan instanceof CTERelationRef && shared(plan) != null) scans.addAll(scans(shared(plan)));
    askBelow(plan, scans);
    boolean goesOn = chosen || !OrderOfGroups.onlyShows(plan);
    scala.collection.immutable.Seq children = plan.children();
    for (int i = 0; i < children.size(); i++) {
      if (children.apply(i) instanceof CTERelationDef) shared.put(new Long(((CTERelationDef) children.apply(i)).id()), children.apply(i));
    }
    for (int i = children.size() - 1; i >= 0; i--) { // what speaks of a WITH before that
      scans.addAll(follow((LogicalPlan) children.apply(i), goesOn || children.apply(i) instanceof CTERelationDef));
    }
    if (isAsked) operators.add(plan);
    if (isAsked) below.add(scans);
    return scans;
  }

  /** The scans of a plan, as places of their own. */
  private static List scans(LogicalPlan plan) {
    OrderOfRows order = new OrderOfRows(null);
    order.follow(plan, false);
    return order.places;
  }

  /** What stands in a WITH; null where that is not of this plan. */
  private LogicalPlan shared(LogicalPlan reference) {
    return (LogicalPlan) shared.get(new Long(((CTERelationRef) reference).cteId()));
  }

  private static boolean goesByOrder(LogicalPlan plan) {
    if (plan instanceof InMemoryRelation) return holdsWhatGoesByOrder(Plans.cached((InMemoryRelation) plan));
    if (Sampled.isCheckpoint(plan)) return true;
    if (plan.children().isEmpty()) return false;
    if (!plan.getClass().getName().startsWith("org.apache.spark.") || !OrderOfGroups.isKnown(plan)) return true;
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) if (OrderOfGroups.counts((Expression) expressions.next())) return true;
    return OrderOfGroups.showsAny(plan);
  }

  private static boolean holdsWhatGoesByOrder(LogicalPlan plan) {
    final boolean[] found = new boolean[1];
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            found[0] = found[0] || goesByOrder((LogicalPlan) node);
            return null;
          }
        });
    return found[0];
  }

  /** Whether of what an operator gives by the order of rows something is spoken of. */
  private boolean isSpokenOf(LogicalPlan plan) {
    boolean ofFunctions = (Groups.of(plan) || plan instanceof Project) && !OrderOfGroups.showsAny(plan); // the rest goes by no order
    scala.collection.immutable.Seq shown = plan instanceof BaseEvalPython ? ((BaseEvalPython) plan).resultAttrs() : plan.output();
    scala.collection.Iterator named = (ofFunctions ? plan.expressions() : shown).iterator();
    while (named.hasNext()) {
      Object one = named.next();
      boolean counts = !ofFunctions || one instanceof Alias && OrderOfGroups.counts((Expression) one);
      if (counts && asked.contains(((NamedExpression) one).exprId())) return true;
    }
    return false;
  }

  /** What of the rows below an operator is spoken of, and by its sub-queries, whose scans are added. */
  private void askBelow(LogicalPlan plan, List scans) {
    boolean names = plan instanceof Project || plan instanceof Aggregate || plan instanceof Window;
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) {
      Expression expression = (Expression) expressions.next();
      Object id = expression instanceof NamedExpression ? ((NamedExpression) expression).exprId() : null;
      if (!names || id == null) ask(expression, true, false, scans);
      else if (expression instanceof Alias) ask(expression, asked.contains(id), cut.contains(id), scans);
    }
    scala.collection.Iterator keys = scala.collection.Iterator$.MODULE$.empty();
    if (plan instanceof Aggregate) keys = ((Aggregate) plan).groupingExpressions().iterator();
    if (plan instanceof Window) keys = ((Window) plan).partitionSpec().iterator();
    while (keys.hasNext()) ask((Expression) keys.next(), true, false, scans);
    scala.collection.immutable.Seq children = plan.children();
    if (plan instanceof CTERelationRef) askSame(plan.output(), shared(plan));
    if (plan instanceof Union) for (int i = 0; i < children.size(); i++) askSame(plan.output(), (LogicalPlan) children.apply(i));
    boolean unknown = !OrderOfGroups.isKnown(plan) && !OrderOfGroups.onlyShows(plan);
    for (int i = 0; unknown && i < children.size(); i++) addAll(((LogicalPlan) children.apply(i)).output(), asked);
  }

  /** The columns of a plan that others, by their places, are given by. */
  private void askSame(scala.collection.immutable.Seq output, LogicalPlan plan) {
    for (int i = 0; plan != null && i < output.size(); i++) {
      Object below = ((Attribute) plan.output().apply(i)).exprId();
      if (asked.contains(((Attribute) output.apply(i)).exprId())) asked.add(below);
      if (cut.contains(((Attribute) output.apply(i)).exprId())) cut.add(below);
    }
  }

  private static void addAll(scala.collection.immutable.Seq attributes, Set ids) {
    for (int i = 0; i < attributes.size(); i++) ids.add(((Attribute) attributes.apply(i)).exprId());
  }

  /** isAsked: whether what an expression gives is spoken of; else it is shown, but for what compares in it. isCut: what of it shows a last digit. */
  private void ask(Expression expression, boolean isAsked, boolean isCut, List scans) {
    boolean subtracts = OrderOfGroups.adds(expression) && isNegated();
    isAsked = isAsked || OrderOfGroups.compares(expression, subtracts) || isCut && OrderOfGroups.combines(expression);
    isCut = isCut || OrderOfGroups.cuts(expression, subtracts);
    if (isAsked && expression instanceof Attribute) asked.add(((Attribute) expression).exprId());
    if (isCut && expression instanceof Attribute) cut.add(((Attribute) expression).exprId());
    if (expression instanceof SubqueryExpression) {
      LogicalPlan query = (LogicalPlan) ((SubqueryExpression) expression).plan();
      if (isAsked) addAll(query.output(), asked);
      if (isCut) addAll(query.output(), cut);
      scans.addAll(follow(query, isAsked));
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) ask((Expression) children.next(), isAsked, isCut, scans);
  }
}

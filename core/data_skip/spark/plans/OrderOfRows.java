package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationDef;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WithCTE;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.BooleanType;

/**
 * The scans of a query that have to read the same files. What some operators give goes by the order of rows, and by which of them are in one task:
 * the last digits of a sum of fractions, which row `first(x)` or row_number() takes where many are alike, a LIMIT. Spark cuts large files by how
 * much it reads in all: with files skipped, one task has other rows. That is as good as before, unless a query compares what two parts of it
 * give for the same rows, as one that joins such a sum with itself: of these, one must not skip more than the other.
 *
 * So each attribute is followed from the operators that its value goes by to where two are compared. And so are rows, which a filter by such a
 * value leaves or not: a join gives a row where both of its sides have one, and of a union each part may have what the others leave out. Of
 * rows that are chosen by `row_number()` alone it is known how many there are for each key, but not which.
 */
public final class OrderOfRows {
  private final Map by = new HashMap(); // the id of an attribute -> the operators that its value goes by
  private final NumberedRows numbered = new NumberedRows();
  private final Map rows = new IdentityHashMap(); // a plan -> the operators by which it goes how many rows there are for each value of a key
  private final Map chosen = new IdentityHashMap(); // a plan -> the operators by which it goes which rows there are
  private final Map shared = new HashMap(); // the number of a WITH that stands in a plan once -> its plan
  private final Map met = new IdentityHashMap(); // an operator -> those that it was compared with
  private final Set alike = identities();
  private final Set none = identities();

  private OrderOfRows() {}

  /** The scans, by identity, that may be given only what all of the same folder are given; and those that may be given nothing. */
  public static Set[] of(LogicalPlan plan) {
    OrderOfRows order = new OrderOfRows();
    if (sources(plan) > 1) order.follow(plan);
    Set[] found = {identities(), order.none};
    List all = order.alike.isEmpty() ? new ArrayList() : scans(plan);
    for (int i = 0; i < all.size(); i++) { // others of that folder as well: what Spark takes for equal stays so
      java.util.Iterator each = order.alike.iterator();
      while (each.hasNext()) if (FilesRead.overlap((LogicalRelation) all.get(i), (LogicalRelation) each.next())) found[0].add(all.get(i));
    }
    return found;
  }

  private static Set identities() {
    return Collections.newSetFromMap(new IdentityHashMap());
  }

  private static int sources(LogicalPlan plan) {
    final int[] count = new int[1];
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            if (goesByOrder((LogicalPlan) node)) count[0]++;
            return null;
          }
        });
    return count[0];
  }

  private static boolean goesByOrder(LogicalPlan plan) {
    if (plan instanceof InMemoryRelation) return sources(((InMemoryRelation) plan).cacheBuilder().logicalPlan()) > 0;
    if (Sampled.isCheckpoint(plan)) return true;
    if (plan.children().isEmpty()) return false;
    if (!plan.getClass().getName().startsWith("org.apache.spark.") || !OrderOfGroups.isKnown(plan)) return true;
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) if (OrderOfGroups.counts((Expression) expressions.next())) return true;
    return false;
  }

  private void follow(LogicalPlan plan) {
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) follow((LogicalPlan) children.next());
    Set all = identities();
    scala.collection.Iterator expressions = plan.expressions().iterator();
    while (expressions.hasNext()) {
      List parts = Plans.conjuncts((Expression) expressions.next());
      for (int i = 0; i < parts.size(); i++) {
        followQueries((Expression) parts.get(i));
        if (plan instanceof Project) compareShown((Expression) parts.get(i));
        else meet(new ArrayList(by((Expression) parts.get(i))));
        all.addAll(by((Expression) parts.get(i)));
      }
    }
    if (plan instanceof CTERelationDef) shared.put(new Long(((CTERelationDef) plan).id()), plan);
    followRows(plan, all);
    if (plan instanceof CTERelationRef) followShared((CTERelationRef) plan);
    else followOutput(plan, all);
    numbered.follow(plan);
  }

  /** all: as of followOutput. */
  private void followRows(LogicalPlan plan, Set all) {
    boolean own = goesByOrder(plan) && !Groups.of(plan) && !(plan instanceof Project);
    Set counted = of(rows, plan);
    Set which = of(chosen, plan);
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) {
      Object child = children.next();
      counted.addAll(of(rows, child));
      which.addAll(of(chosen, child));
    }
    if (plan instanceof Generate) counted.addAll(all);
    if (plan instanceof Generate) which.addAll(all);
    if (plan instanceof Filter || plan instanceof Join) {
      counted.addAll(all);
      which.addAll(all);
      meet(new ArrayList(counted)); // a row is there if all that is asked of it is so
      java.util.Iterator alone = numbered.alone(plan).iterator();
      while (alone.hasNext()) countByKeys((Window) alone.next(), counted);
    } else if (plan.children().size() > 1 && !(plan instanceof WithCTE)) {
      meet(new ArrayList(which));
    }
    if (plan instanceof Aggregate) {
      scala.collection.immutable.Seq keys = ((Aggregate) plan).groupingExpressions();
      if (keys.isEmpty()) counted.clear(); // one row, of whatever
      if (keys.isEmpty()) which.clear();
      for (int i = 0; i < keys.size(); i++) counted.addAll(by((Expression) keys.apply(i)));
      which.addAll(counted);
    }
    if (own) counted.add(plan);
    if (own) which.add(plan);
  }

  /** Of rows that are chosen by the numbers of a window there are as many as it has keys. */
  private void countByKeys(Window window, Set counted) {
    counted.remove(window);
    scala.collection.Iterator keys = window.partitionSpec().iterator();
    while (keys.hasNext()) counted.addAll(by((Expression) keys.next()));
  }

  /** What stands once in a WITH, and is spoken of by other attributes. */
  private void followShared(CTERelationRef reference) {
    LogicalPlan plan = (LogicalPlan) shared.get(new Long(reference.cteId()));
    if (plan == null) return;
    rows.put(reference, of(rows, plan));
    chosen.put(reference, of(chosen, plan));
    for (int i = 0; i < reference.output().size(); i++) {
      of(by, ((Attribute) reference.output().apply(i)).exprId()).addAll(of(by, ((Attribute) plan.output().apply(i)).exprId()));
    }
  }

  private void followQueries(Expression expression) {
    if (expression instanceof DynamicPruning) return; // it repeats what stands in the plan
    if (expression instanceof SubqueryExpression) follow((LogicalPlan) ((SubqueryExpression) expression).plan());
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) followQueries((Expression) children.next());
  }

  /** all: the operators that what `plan` evaluates goes by. */
  private void followOutput(LogicalPlan plan, Set all) {
    boolean own = goesByOrder(plan);
    if (plan instanceof Aggregate || plan instanceof Window || plan instanceof Project) {
      scala.collection.Iterator expressions = plan.expressions().iterator();
      while (expressions.hasNext()) name((Expression) expressions.next(), plan);
      return;
    }
    boolean chooses = plan instanceof Filter || plan instanceof Join || plan instanceof Generate; // which gives none of an empty array
    boolean makes = plan instanceof Generate || plan instanceof Expand || plan instanceof BaseEvalPython;
    Set alone = numbered.alone(plan);
    for (int i = 0; i < plan.output().size(); i++) {
      Object id = ((Attribute) plan.output().apply(i)).exprId();
      if (own) {
        by.put(id, identities());
        of(by, id).add(plan);
      } else if (plan instanceof Union) {
        for (int j = 0; j < plan.children().size(); j++) {
          of(by, id).addAll(of(by, ((Attribute) ((LogicalPlan) plan.children().apply(j)).output().apply(i)).exprId()));
        }
      } else if (makes && !((LogicalPlan) plan.children().head()).outputSet().contains((Attribute) plan.output().apply(i))) {
        of(by, id).addAll(all);
      } else if (chooses) {
        java.util.Iterator each = all.iterator();
        while (each.hasNext()) {
          Object operator = each.next();
          if (!alone.contains(operator) || !numbered.isKey(id, operator)) of(by, id).add(operator);
        }
      }
    }
  }

  private void name(Expression expression, LogicalPlan plan) {
    if (!(expression instanceof Alias)) return;
    Expression value = ((Alias) expression).child();
    Object id = ((Alias) expression).exprId();
    if (OrderOfGroups.counts(value)) of(by, id).add(plan);
    else of(by, id).addAll(by(value));
    boolean ofMany = SideRows.holds(value, AggregateExpression.class) || SideRows.holds(value, WindowExpression.class);
    if (ofMany) of(by, id).addAll(of(rows, plan.children().head()));
    if (plan instanceof Aggregate && ofMany) of(by, id).addAll(of(rows, plan));
  }

  private static Set of(Map sets, Object id) {
    if (!sets.containsKey(id)) sets.put(id, identities());
    return (Set) sets.get(id);
  }

  /** The operators that the value of an expression goes by. */
  private Set by(Expression expression) {
    Set found = identities();
    if (expression instanceof DynamicPruning) return found;
    if (expression instanceof AttributeReference) found.addAll(of(by, ((NamedExpression) expression).exprId()));
    if (expression instanceof SubqueryExpression) {
      found.addAll(of(rows, ((SubqueryExpression) expression).plan()));
      scala.collection.Iterator output = ((LogicalPlan) ((SubqueryExpression) expression).plan()).output().iterator();
      while (output.hasNext()) found.addAll(of(by, ((Attribute) output.next()).exprId()));
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) found.addAll(by((Expression) children.next()));
    return found;
  }

  /** What is made of values goes on, and is compared only where that is asked. */
  private void compareShown(Expression expression) {
    if (expression.resolved() && expression.dataType() instanceof BooleanType) {
      meet(new ArrayList(by(expression)));
      return;
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) compareShown((Expression) children.next());
  }

  private void meet(List operators) {
    for (int i = 0; i < operators.size(); i++) {
      for (int j = 0; j < i; j++) {
        boolean isNew = of(met, operators.get(i)).add(operators.get(j)) && of(met, operators.get(j)).add(operators.get(i)); // in whichever order
        if (isNew) meet((LogicalPlan) operators.get(i), (LogicalPlan) operators.get(j));
      }
    }
  }

  /** One may stand below the other: what that reads besides has to fit as well. */
  private void meet(LogicalPlan one, LogicalPlan other) {
    List mine = scans(one);
    List theirs = scans(other);
    for (int i = 0; i < mine.size(); i++) {
      for (int j = 0; j < theirs.size(); j++) {
        if (mine.get(i) == theirs.get(j) || !FilesRead.overlap((LogicalRelation) mine.get(i), (LogicalRelation) theirs.get(j))) continue;
        Collections.addAll(alike, new Object[] {mine.get(i), theirs.get(j)});
        if (one instanceof InMemoryRelation) none.add(theirs.get(j)); // of what is cached all files were read, perhaps
        if (other instanceof InMemoryRelation) none.add(mine.get(i));
      }
    }
    if (Sampled.isCheckpoint(one)) addTo(none, theirs);
    if (Sampled.isCheckpoint(other)) addTo(none, mine);
  }

  private void addTo(Set scans, List more) {
    scans.addAll(more);
    alike.addAll(more);
  }

  private static List scans(LogicalPlan plan) {
    final List found = new ArrayList();
    plan.foreachWithSubqueries(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object node) {
            if (node instanceof LogicalRelation) found.add(node);
            if (node instanceof InMemoryRelation) found.addAll(scans(((InMemoryRelation) node).cacheBuilder().logicalPlan()));
            return null;
          }
        });
    return found;
  }
}

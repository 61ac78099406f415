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
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.DynamicPruning;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.BaseEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Generate;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.BooleanType;

/**
 * The scans of a query that have to read the same files. What some operators give goes by the order of rows, and by which of them are in one task:
 * the last digits of a sum of fractions, which row `first(x)` or row_number() takes where many are alike, a LIMIT. Spark cuts large files by how
 * much it reads in all: with files skipped, one task has other rows. That is as good as before, unless a query compares what two parts of it
 * give for the same rows, as one that joins such a sum with itself: of these, one must not skip more than the other.
 *
 * So each attribute is followed from the operators that its value goes by to where two are compared.
 */
public final class OrderOfRows {
  private final Map by = new HashMap(); // the id of an attribute -> the operators that its value goes by
  private final Map keyOf = new HashMap(); // the id of an attribute -> the operators that group by it: whatever the order, each value is there
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
        all.addAll(by((Expression) parts.get(i)));
      }
      if (!(plan instanceof Project)) compare(parts);
    }
    if (Groups.of(plan)) {
      java.util.Iterator keys = Groups.keys(plan).keySet().iterator();
      while (keys.hasNext()) of(keyOf, keys.next()).add(plan);
    }
    followOutput(plan, all);
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
    if (plan instanceof Aggregate || plan instanceof Window || plan instanceof Project || plan instanceof BaseEvalPython) {
      scala.collection.Iterator expressions = plan.expressions().iterator();
      while (expressions.hasNext()) name((Expression) expressions.next(), plan);
      Map computed = plan instanceof BaseEvalPython ? Plans.computed(plan) : Collections.EMPTY_MAP;
      java.util.Iterator ids = computed.keySet().iterator();
      while (ids.hasNext()) of(by, ids.next()).addAll(all);
      return;
    }
    boolean chooses = plan instanceof Filter || plan instanceof Join;
    boolean makes = plan instanceof Generate || plan instanceof Expand;
    for (int i = 0; i < plan.output().size(); i++) {
      Object id = ((Attribute) plan.output().apply(i)).exprId();
      if (own) {
        by.put(id, identities());
        of(by, id).add(plan);
        keyOf.remove(id);
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
          if (!of(keyOf, id).contains(operator)) of(by, id).add(operator);
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
    if (value instanceof Attribute) of(keyOf, id).addAll(of(keyOf, ((Attribute) value).exprId()));
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
      scala.collection.Iterator output = ((LogicalPlan) ((SubqueryExpression) expression).plan()).output().iterator();
      while (output.hasNext()) found.addAll(of(by, ((Attribute) output.next()).exprId()));
    }
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) found.addAll(by((Expression) children.next()));
    return found;
  }

  /** Conjuncts: two may compare values by an attribute that both are about, as `a > c AND c >= b` does. */
  private void compare(List parts) {
    for (List left = new ArrayList(parts); !left.isEmpty();) {
      Expression first = (Expression) left.remove(0);
      AttributeSet about = first.references();
      Set operators = by(first);
      for (int i = 0; i < left.size();) {
        Expression part = (Expression) left.get(i++);
        if (!SideRows.meets(part, about)) continue;
        about = about.$plus$plus(part.references());
        operators.addAll(by(part));
        left.remove(part);
        i = 0;
      }
      meet(new ArrayList(operators));
    }
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
        LogicalPlan one = (LogicalPlan) operators.get(i);
        LogicalPlan other = (LogicalPlan) operators.get(j);
        if (!holds(one, other) && !holds(other, one)) meet(one, other);
      }
    }
  }

  private void meet(LogicalPlan one, LogicalPlan other) {
    List mine = scans(one);
    List theirs = scans(other);
    for (int i = 0; i < mine.size(); i++) {
      for (int j = 0; j < theirs.size(); j++) {
        if (!FilesRead.overlap((LogicalRelation) mine.get(i), (LogicalRelation) theirs.get(j))) continue;
        Collections.addAll(alike, new Object[] {mine.get(i), theirs.get(j)});
        if (one instanceof InMemoryRelation) none.add(theirs.get(j)); // of what is cached all files were read, perhaps
        if (other instanceof InMemoryRelation) none.add(mine.get(i));
      }
    }
  }

  private static boolean holds(LogicalPlan plan, LogicalPlan part) {
    if (plan == part) return true;
    scala.collection.Iterator children = plan.children().iterator();
    while (children.hasNext()) if (holds((LogicalPlan) children.next(), part)) return true;
    return false;
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

package data_skip;

import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.RowNumber;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.WindowExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Window;

/**
 * The numbers that row_number() gives the rows of each key of a window. Which row has which goes by the order of rows, where some are alike; but
 * each key has the same numbers: as many rows as it has, and, of those that `n = 1` chooses, one.
 */
public final class NumberedRows {
  private final Map keyOf = new HashMap(); // the id of an attribute -> the windows that it is a key of
  private final Map numberOf = new HashMap(); // the id of an attribute -> the windows that it numbers all rows of, for each key

  /** Takes note of what an operator makes of numbers and keys: in the order from the scans to the root. */
  public void follow(LogicalPlan plan) {
    if (plan instanceof Window) add((Window) plan);
    if (plan instanceof Window) return;
    if (plan instanceof Project) {
      scala.collection.Iterator list = ((Project) plan).projectList().iterator();
      while (list.hasNext()) rename(list.next());
      return;
    }
    Set alone = alone(plan);
    for (int i = 0; i < plan.output().size() && !OrderOfGroups.keepsRows(plan); i++) {
      of(numberOf, ((Attribute) plan.output().apply(i)).exprId()).retainAll(alone); // else those of some of the rows
    }
  }

  private void add(Window window) {
    Iterator keys = Groups.keys(window).keySet().iterator();
    while (keys.hasNext()) of(keyOf, keys.next()).add(window);
    scala.collection.Iterator expressions = window.windowExpressions().iterator();
    while (expressions.hasNext()) {
      Object named = expressions.next();
      Object value = named instanceof Alias ? ((Alias) named).child() : null;
      boolean numbers = value instanceof WindowExpression && ((WindowExpression) value).windowFunction() instanceof RowNumber;
      if (numbers) of(numberOf, ((Alias) named).exprId()).add(window);
    }
  }

  private void rename(Object named) {
    if (!(named instanceof Alias) || !(((Alias) named).child() instanceof Attribute)) return;
    Object before = ((Attribute) ((Alias) named).child()).exprId();
    of(keyOf, ((Alias) named).exprId()).addAll(of(keyOf, before));
    of(numberOf, ((Alias) named).exprId()).addAll(of(numberOf, before));
  }

  /** The windows by whose numbers, and keys, a filter alone chooses rows: as many for each key, whatever the order. */
  public Set alone(LogicalPlan plan) {
    Set found = identities();
    if (!(plan instanceof Filter)) return found;
    Expression condition = ((Filter) plan).condition();
    if (!condition.deterministic() || SideRows.holds(condition, SubqueryExpression.class)) return found;
    Set ids = new HashSet();
    scala.collection.Iterator references = condition.references().iterator();
    while (references.hasNext()) ids.add(((Attribute) references.next()).exprId());
    for (Iterator each = ids.iterator(); each.hasNext();) found.addAll(of(numberOf, each.next()));
    for (Iterator each = found.iterator(); each.hasNext();) if (!areOf(each.next(), ids)) each.remove();
    return found;
  }

  private boolean areOf(Object window, Set ids) {
    for (Iterator each = ids.iterator(); each.hasNext();) {
      Object id = each.next();
      if (!of(numberOf, id).contains(window) && !isKey(id, window)) return false;
    }
    return true;
  }

  /** Whether an attribute, by its id, is a key of a window. */
  public boolean isKey(Object id, Object window) {
    return of(keyOf, id).contains(window);
  }

  private static Set of(Map sets, Object id) {
    if (!sets.containsKey(id)) sets.put(id, identities());
    return (Set) sets.get(id);
  }

  private static Set identities() {
    return Collections.newSetFromMap(new IdentityHashMap());
  }
}

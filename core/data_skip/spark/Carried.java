package data_skip;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** What is known of every row of a plan that matters above it: predicates that hold of it, and Pending ones. Never changed once made. */
public final class Carried {
  public static final Carried NOTHING = new Carried(new ArrayList(), new ArrayList());

  private final List predicates;
  private final List pending;

  private Carried(List predicates, List pending) {
    this.predicates = predicates;
    this.pending = pending;
  }

  public List predicates() {
    return predicates;
  }

  public List pending() {
    return pending;
  }

  /** And these predicates hold of each row besides. */
  public Carried and(List more) {
    List all = new ArrayList(predicates);
    all.addAll(more);
    return new Carried(all, pending);
  }

  /** And this may be known of each row besides; null: nothing. */
  public Carried and(Pending more) {
    if (more == null) return this;
    List all = new ArrayList(pending);
    all.add(more);
    return new Carried(predicates, all);
  }

  /** What of it speaks of nothing but these attributes. */
  public Carried about(AttributeSet output) {
    List mine = new ArrayList();
    for (int i = 0; i < predicates.size(); i++) {
      List parts = Plans.conjuncts((Expression) predicates.get(i));
      for (int j = 0; j < parts.size(); j++) {
        Expression part = (Expression) parts.get(j);
        if (part.references().subsetOf(output)) mine.add(part);
      }
    }
    List minePending = new ArrayList();
    for (int i = 0; i < pending.size(); i++) {
      Pending about = ((Pending) pending.get(i)).about(output);
      if (about != null) minePending.add(about);
    }
    return new Carried(mine, minePending);
  }

  /** The same of an operator's input, whose output `computed` gives by the ids of its attributes. */
  public Carried below(Map computed) {
    List substituted = new ArrayList();
    for (int i = 0; i < predicates.size(); i++) substituted.add(Plans.substitute((Expression) predicates.get(i), computed));
    List substitutedPending = new ArrayList();
    for (int i = 0; i < pending.size(); i++) substitutedPending.add(((Pending) pending.get(i)).below(computed));
    return new Carried(substituted, substitutedPending);
  }
}

package data_skip;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** What is known of every row of a plan that matters above it: predicates that hold of it, and RuntimeFilter ones. Never changed once made. */
public final class PushedDown {
  public static final PushedDown NOTHING = new PushedDown(new ArrayList(), new ArrayList());

  private final List predicates;
  private final List runtimeFilters;

  private PushedDown(List predicates, List runtimeFilters) {
    this.predicates = predicates;
    this.runtimeFilters = runtimeFilters;
  }

  public List predicates() {
    return predicates;
  }

  public List runtimeFilters() {
    return runtimeFilters;
  }

  public boolean isEmpty() {
    return predicates.isEmpty() && runtimeFilters.isEmpty();
  }

  /** And these predicates hold of each row besides. */
  public PushedDown and(List more) {
    List all = new ArrayList(predicates);
    all.addAll(more);
    return new PushedDown(all, runtimeFilters);
  }

  /** And this may be known of each row besides; null: nothing. */
  public PushedDown and(RuntimeFilter more) {
    if (more == null) return this;
    List all = new ArrayList(runtimeFilters);
    all.add(more);
    return new PushedDown(predicates, all);
  }

  /** What of it speaks of nothing but these attributes. */
  public PushedDown about(AttributeSet output) {
    if (isEmpty()) return this;
    List mine = new ArrayList();
    for (int i = 0; i < predicates.size(); i++) {
      List parts = Plans.conjuncts((Expression) predicates.get(i));
      for (int j = 0; j < parts.size(); j++) {
        Expression part = (Expression) parts.get(j);
        if (part.references().subsetOf(output)) mine.add(part);
      }
    }
    List myFilters = new ArrayList();
    for (int i = 0; i < runtimeFilters.size(); i++) {
      RuntimeFilter about = ((RuntimeFilter) runtimeFilters.get(i)).about(output);
      if (about != null) myFilters.add(about);
    }
    return new PushedDown(mine, myFilters);
  }

  /** The same of an operator's input, whose output `computed` gives by the ids of its attributes: what does not grow too much by that. */
  public PushedDown below(Map computed) {
    if (isEmpty()) return this;
    List substitutedFilters = new ArrayList();
    for (int i = 0; i < runtimeFilters.size(); i++) {
      RuntimeFilter below = ((RuntimeFilter) runtimeFilters.get(i)).below(computed);
      if (below != null) substitutedFilters.add(below);
    }
    return new PushedDown(Substitution.substituteAll(predicates, computed), substitutedFilters);
  }

  /** What of it is known as well of the rows of an equal plan. The places of attributes are those in the output of each plan. */
  public PushedDown among(PushedDown other, Map places, Map otherPlaces) {
    List mine = new ArrayList();
    if (!predicates.isEmpty() && !other.predicates.isEmpty()) {
      mine = kept(predicates, Alike.exactly(predicates, places), Alike.exactly(other.predicates, otherPlaces));
    }
    List myFilters = new ArrayList();
    if (!runtimeFilters.isEmpty() && !other.runtimeFilters.isEmpty()) {
      myFilters = kept(runtimeFilters, RuntimeFilter.alike(runtimeFilters, places), RuntimeFilter.alike(other.runtimeFilters, otherPlaces));
    }
    return new PushedDown(mine, myFilters);
  }

  /** As Spark's maps find what is equal, by hashes: to `equals` alone of literals, and of rows, -0.0 is 0.0. */
  private static List kept(List all, List forms, List known) {
    Set others = new HashSet(known);
    List result = new ArrayList();
    for (int i = 0; i < all.size(); i++) if (others.contains(forms.get(i))) result.add(all.get(i));
    return result;
  }
}

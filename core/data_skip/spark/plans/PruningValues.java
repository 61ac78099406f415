package data_skip;

import java.lang.reflect.Method;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * Where Spark 4.3 finds the values of dynamic pruning if the side of a join that it repeats is broadcast nowhere: in the broadcast of one side of
 * the first join of that (its BroadcastValueProjection, where `dynamicPartitionPruning.broadcastProjection.enabled` is set).
 */
public final class PruningValues {
  private static final ClassValue PROJECTION = new ClassValue() { // what gives it, of each class that has it
    protected Object computeValue(Class type) {
      try {
        return type.getMethod("broadcastValueProjection", new Class[0]);
      } catch (NoSuchMethodException without) {
        return without;
      }
    }
  };

  private PruningValues() {}

  /** The place of what is broadcast, where the pruning repeats the plan at `query`; null where no such broadcast is looked for. */
  public static Place source(Expression pruning, Place query) {
    scala.Product projection = projection(pruning);
    if (projection == null) return null;
    LogicalPlan source = (LogicalPlan) projection.productElement(0);
    Place join = query;
    while (join.plan instanceof Project) join = join.child(0);
    for (int i = 0; i < join.children.size(); i++) {
      LogicalPlan side = join.child(i).plan;
      if (side.outputSet().equals(source.outputSet()) && side.canonicalized().equals(source.canonicalized())) return join.child(i);
    }
    return null;
  }

  /** The same pruning, by the broadcast of this plan. */
  public static Expression by(LogicalPlan source, Expression pruning) {
    scala.Product projection = projection(pruning);
    Object[] own = elements(projection, projection.productArity());
    own[0] = source;
    scala.Product old = (scala.Product) pruning;
    Object[] all = elements(old, old.productArity() + 1); // it has the projection beside its elements
    all[old.productArity()] = scala.Option.apply(made(projection, own));
    return (Expression) made(pruning, all);
  }

  private static scala.Product projection(Expression pruning) {
    Object method = PROJECTION.get(pruning.getClass());
    if (!(method instanceof Method)) return null; // an earlier Spark's
    try {
      scala.Option found = (scala.Option) ((Method) method).invoke(pruning, new Object[0]);
      return found.isDefined() ? (scala.Product) found.get() : null;
    } catch (ReflectiveOperationException e) {
      return null;
    }
  }

  private static Object[] elements(scala.Product product, int length) {
    Object[] result = new Object[length];
    for (int i = 0; i < product.productArity(); i++) result[i] = product.productElement(i);
    return result;
  }

  private static Object made(Object like, Object[] elements) {
    try {
      return like.getClass().getConstructors()[0].newInstance(elements);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }
}

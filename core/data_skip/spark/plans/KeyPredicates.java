package data_skip;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BloomFilterMightContain;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.KnownFloatingPointNormalized;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.util.sketch.BloomFilter;

/** Predicates made of values, for SideRows. */
public final class KeyPredicates {
  private static final int FEW_KEYS = 100; // of a function, each is found by bisection; more get a range besides
  private static final int MOST_KEYS = 10000; // that are told one by one
  private static final double FALSE_POSITIVES = 0.01;

  private KeyPredicates() {}

  /**
   * `key IN (values)`, with a range besides where there are many; beyond MOST_KEYS the range, and that Spark's Bloom filter of them may
   * contain it. NULL counts where it equals NULL.
   */
  public static List isIn(Expression key, List values, boolean nullSafe) {
    DataType type = key.dataType();
    boolean orNull = values.remove(null) && nullSafe;
    boolean exact = Plans.exact(type); // else a set, or hashes, might tell apart what is equal: -0.0 and 0.0, 'z' and 'Z'
    List result = new ArrayList();
    if (values.size() <= MOST_KEYS) {
      Expression in;
      if (values.size() <= FEW_KEYS || !exact) {
        List literals = new ArrayList();
        for (int i = 0; i < values.size(); i++) literals.add(new Literal(values.get(i), type));
        in = new In(key, Plans.seq(literals));
      } else {
        in = new InSet(key, scala.jdk.javaapi.CollectionConverters.asScala(new HashSet(values)).toSet());
      }
      result.add(orNull ? new Or(in, new IsNull(key)) : in);
    }
    if (values.size() > FEW_KEYS && !orNull) {
      final scala.math.Ordering order = org.apache.spark.sql.catalyst.util.TypeUtils.getInterpretedOrdering(type);
      result.addAll(range(key, Collections.min(values, order), Collections.max(values, order)));
      if (values.size() > MOST_KEYS && exact) result.add(mightBeIn(key, values));
    }
    return result;
  }

  /** As Spark's own runtime filters ask. */
  private static Expression mightBeIn(Expression key, List values) {
    BloomFilter filter = BloomFilter.create(values.size(), FALSE_POSITIVES);
    for (int i = 0; i < values.size(); i++) filter.putLong(((Long) hash(new Literal(values.get(i), key.dataType())).eval(null)).longValue());
    java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
    try {
      filter.writeTo(bytes);
    } catch (java.io.IOException e) {
      throw new IllegalStateException(e);
    }
    return new BloomFilterMightContain(new Literal(bytes.toByteArray(), DataTypes.BinaryType), hash(key));
  }

  private static Expression hash(Expression value) {
    return new XxHash64(Plans.seq(Collections.singletonList(value)));
  }

  public static List range(Expression key, Object low, Object high) {
    List result = new ArrayList();
    result.add(new GreaterThanOrEqual(key, new Literal(low, key.dataType())));
    result.add(new LessThanOrEqual(key, new Literal(high, key.dataType())));
    return result;
  }

  public static Expression all(List parts) {
    Expression result = null;
    for (int i = 0; i < parts.size(); i++) result = result == null ? (Expression) parts.get(i) : new And(result, (Expression) parts.get(i));
    return result;
  }

  /** Their OR, as a tree that is not deep. */
  public static Expression any(List parts) {
    int middle = parts.size() / 2;
    return middle == 0 ? (Expression) parts.get(0) : new Or(any(parts.subList(0, middle)), any(parts.subList(middle, parts.size())));
  }

  public static Expression replaced(Expression expression, final Expression part, final Expression by) {
    if (expression == part || expression instanceof AttributeReference && expression.semanticEquals(part)) return by;
    return (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return replaced((Expression) child, part, by);
      }
    });
  }

  /**
   * An equality without what Spark's optimizer puts round fractions that are keys of a join: one form of NaN, and of 0.0 and -0.0. They are
   * equal without, and of the bare column more is known.
   */
  public static Expression asWritten(Expression condition) {
    if (!(condition instanceof EqualTo) && !(condition instanceof EqualNullSafe)) return condition;
    return (Expression) condition.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        if (child instanceof KnownFloatingPointNormalized) child = ((KnownFloatingPointNormalized) child).child();
        return child instanceof NormalizeNaNAndZero ? ((NormalizeNaNAndZero) child).child() : child;
      }
    });
  }

  /** With every constant part that each job finds to be the same as a literal, as the optimizer leaves constants of a WHERE. */
  public static Expression folded(Expression expression) {
    Literal literal = Evaluator.literal(expression);
    if (literal != null) return literal;
    if (expression.foldable()) return expression; // of literals for its parts it might look as if more were known
    return (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return folded((Expression) child);
      }
    });
  }
}

package data_skip;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/**
 * Finds where a function f of one value, monotone over the ordered values of a type, reaches and passes a constant c: f is evaluated at
 * some 64 ordinals of its domain (see Domain) and compared with c, in Spark's own order.
 */
public final class Bisection {
  private final Repeated function;
  private final Repeated checked;
  private final List moments = new ArrayList(); // the parts of the function that are dates or times
  private final DataType type;
  private final Object constant;
  private final scala.math.Ordering ordering;
  private final Object[] slot = new Object[1];
  private final InternalRow row = new GenericInternalRow(slot);
  private final TreeMap values = new TreeMap(); // of the ordinals that were asked for

  /**
   * "first,reached,passed,last,increasing,null,nan": f has a value on [first, last] (elsewhere it raises or gives NULL); `reached` is the
   * smallest x there with f(x) >= c and `passed` the smallest with f(x) > c, or last + 1 (mirrored for a decreasing f: f(x) <= c,
   * f(x) < c). "null" says whether f(NULL) is NULL; "nan" how f(NaN) compares with c (-1, 0, 1; "?" where it has no value).
   *
   * Null where f has no value at the middle of the domain, or the type has no domain, or f turns after all; an exception where f has
   * none somewhere between first and last. Where `checked` raises an error, or a part of f leaves the years 1 to 9999, f counts as
   * having no value: it may have wrapped round.
   *
   * @param function of column 0, which is of this type
   */
  public static String of(Expression function, Expression checked, DataType type, Expression constant) {
    Object c = Unshared.of(constant).eval(null);
    return c == null || !Domain.has(type) ? null : new Bisection(function, checked, type, c).found();
  }

  private Bisection(Expression function, Expression checked, DataType type, Object constant) {
    this.function = new Repeated(function);
    this.checked = new Repeated(checked);
    addMoments(function);
    this.type = type;
    this.constant = constant;
    this.ordering = TypeUtils.getInterpretedOrdering(function.dataType());
  }

  private String found() {
    if (!hasValue(BigInteger.ZERO)) return null;
    BigInteger first = edge(Domain.smallest(type));
    BigInteger last = edge(Domain.largest(type));
    boolean increasing = order(first, last) <= 0;
    BigInteger reached = boundary(first, last, increasing, 0);
    BigInteger passed = boundary(first, last, increasing, 1);
    if (turns(increasing)) return null;
    return first + "," + reached + "," + passed + "," + last + "," + increasing + "," + givesNullForNull() + "," + nan();
  }

  private boolean givesNullForNull() {
    try {
      slot[0] = null;
      return function.eval(row) == null;
    } catch (Exception e) {
      return false;
    }
  }

  /** Whether the values that were found are not in order, so that what is claimed of f is false. */
  private boolean turns(boolean increasing) {
    Object before = null;
    for (Iterator i = values.values().iterator(); i.hasNext();) {
      Object value = i.next();
      if (before != null && (increasing ? ordering.compare(before, value) : ordering.compare(value, before)) > 0) return true;
      before = value;
    }
    return false;
  }

  private void addMoments(Expression part) {
    if (part.foldable()) return;
    if (Conditions.isTime(part.dataType())) moments.add(part);
    scala.collection.Iterator children = part.children().iterator();
    while (children.hasNext()) addMoments((Expression) children.next());
  }

  private Object at(BigInteger ordinal) {
    if (values.containsKey(ordinal)) return values.get(ordinal);
    slot[0] = Domain.value(ordinal, type);
    checked.eval(row);
    for (int i = 0; i < moments.size(); i++) {
      Expression part = (Expression) moments.get(i);
      Object moment = part.eval(row);
      if (moment != null && !Conditions.inCalendar((Number) moment, part.dataType())) throw new ArithmeticException("outside of the calendar");
    }
    Object value = function.eval(row);
    if (value != null) values.put(ordinal, value);
    return value;
  }

  private boolean hasValue(BigInteger ordinal) {
    try {
      return at(ordinal) != null;
    } catch (Exception e) {
      return false;
    }
  }

  private int order(BigInteger a, BigInteger b) {
    return ordering.compare(at(a), at(b));
  }

  private String nan() {
    slot[0] = type instanceof FloatType ? (Object) new Float(Float.NaN) : type instanceof DoubleType ? new Double(Double.NaN) : null;
    try {
      Object value = slot[0] == null ? null : function.eval(row);
      return value == null ? "?" : Integer.toString(Integer.signum(ordering.compare(value, constant)));
    } catch (Exception e) {
      return "?";
    }
  }

  /** The ordinal nearest to `end` at which f still has a value, coming from 0. */
  private BigInteger edge(BigInteger end) {
    if (hasValue(end)) return end;
    BigInteger good = BigInteger.ZERO;
    BigInteger bad = end;
    while (bad.subtract(good).abs().compareTo(BigInteger.ONE) > 0) {
      BigInteger middle = good.add(bad).divide(BigInteger.TWO);
      if (hasValue(middle)) good = middle; else bad = middle;
    }
    return good;
  }

  /** The smallest x in [first, last] with sign(f(x) - c) >= wanted (for a decreasing f: c - f(x)), or last + 1. */
  private BigInteger boundary(BigInteger first, BigInteger last, boolean increasing, int wanted) {
    BigInteger low = first;
    BigInteger high = last.add(BigInteger.ONE);
    while (low.compareTo(high) < 0) {
      BigInteger middle = low.add(high).shiftRight(1);
      int sign = Integer.signum(ordering.compare(at(middle), constant));
      if ((increasing ? sign : -sign) >= wanted) high = middle; else low = middle.add(BigInteger.ONE);
    }
    return low;
  }
}

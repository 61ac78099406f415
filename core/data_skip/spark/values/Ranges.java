package data_skip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * For each file: which values a node of the query may have there, from the ranges of some sub-expressions ("targets") in the file.
 *
 * A function that is monotone in each operand, the others being held, takes its extremes over a box of operands at corners of the
 * box: they are evaluated by Spark. NULL, NaN and the places where a function turns are corners of their own. Which functions
 * are monotone, and when, is told by Python (monotone.py); of =, IN, CASE and their like it is said here. Where all
 * targets below a node have one value in a file, the node is evaluated, whatever it is.
 */
public final class Ranges {
  private static final int MOST_CORNERS = 243;
  private static final ObjectMapper JSON = new ObjectMapper();

  /** An expression, prepared for many files. */
  private final class Node {
    final Expression expression;
    final String name;
    final DataType type;
    final scala.math.Ordering ordering; // null where values of the type have none
    final Node[] children;
    final Claim rule; // null where Python claims nothing
    final Literal constant; // null where it is none that is known
    int target = -1;
    final Set targets = new HashSet();
    final Repeated whole; // with targets as references; null where Spark cannot evaluate it here
    Repeated step; // with children as references
    Repeated checked; // as `step`, but raises an error where that may wrap round; or null
    Members members; // of an IN list

    Node(Expression expression) {
      this.expression = expression;
      this.name = Code.nameOf(expression);
      this.type = expression.dataType();
      this.ordering = orderingOf(type);
      this.rule = (Claim) rules.get(expression);
      if (targetOf.containsKey(expression)) target = ((Integer) targetOf.get(expression)).intValue();
      List below = new ArrayList();
      if (target < 0) {
        scala.collection.Iterator iterator = expression.children().iterator();
        while (iterator.hasNext()) below.add(new Node((Expression) iterator.next()));
      } else {
        targets.add(new Integer(target));
      }
      this.children = (Node[]) below.toArray(new Node[0]);
      for (int i = 0; i < children.length; i++) targets.addAll(children[i].targets);
      this.constant = targets.isEmpty() ? Evaluator.literal(expression) : null;
      Expression bound = Evaluator.bound(expression, targetReferences);
      this.whole = bound == null ? null : new Repeated(bound);
      if (target < 0 && (rule != null || monotone.contains(name)) && !Doubtful.here(expression)) {
        List references = new ArrayList();
        for (int i = 0; i < children.length; i++) {
          references.add(children[i].constant != null ? (Expression) children[i].constant : new BoundReference(i, children[i].type, true));
        }
        Expression alike = Localized.raising((Expression) expression.withNewChildren(Plans.seq(references)));
        Expression own = alike == null ? null : Bounded.raising(alike);
        if (own != null) {
          own = Unshared.of(own);
          this.step = new Repeated(own);
          if (rule != null && rule.checked) this.checked = new Repeated(AnsiForm.of(own));
        }
      }
      if (name.equals("InSet")) this.members = new Members(((InSet) expression).hset().iterator(), children[0].ordering);
      if (name.equals("In")) this.members = listed();
    }

    /** The constants of an IN list; null where something else is among them, or nothing: NULL IN () is false, or NULL. */
    private Members listed() {
      if (children.length == 1) return null;
      List values = new ArrayList();
      for (int i = 1; i < children.length; i++) {
        if (children[i].constant == null) return null;
        values.add(children[i].constant.value());
      }
      return new Members(scala.jdk.javaapi.CollectionConverters.asScala(values.iterator()), children[0].ordering);
    }

    /** Null: any value. */
    ValueRange range() {
      ValueRange found;
      try {
        found = target >= 0 ? inputs[target] : constant != null ? single(constant.value()) : computed();
      } catch (Exception raised) { // by Spark, at a corner: then nothing is known
        found = null;
      }
      return found == null && type instanceof BooleanType ? ValueRange.of(true, true, true) : found;
    }

    private ValueRange computed() {
      return whole != null && ordering != null && allSingle() ? evaluated() : bounded();
    }

    private ValueRange single(Object value) {
      ValueRange range = new ValueRange();
      range.add(value, ordering);
      return range;
    }

    /** Whether every target below has one value in this file, and perhaps NULL. 0.0 may be -0.0. */
    private boolean allSingle() {
      if (targets.isEmpty()) return false;
      for (Iterator i = targets.iterator(); i.hasNext();) {
        int number = ((Integer) i.next()).intValue();
        ValueRange range = inputs[number];
        if (range == null || range.hasNaN) return false;
        if (range.low != null && (!range.low.equals(range.high) || isFloatZero(range.low))) return false;
      }
      return true;
    }

    private ValueRange evaluated() {
      List options = new ArrayList();
      for (int i = 0; i < inputs.length; i++) {
        options.add(targets.contains(new Integer(i)) ? inputs[i].corners(types[i]) : Arrays.asList(new Object[] {null}));
      }
      return overProduct(whole, options, false);
    }

    private ValueRange bounded() {
      if (name.equals("CaseWhen") || name.equals("If")) return branches();
      if (name.equals("Coalesce")) return firstOfThem();
      if (members != null) {
        ValueRange operand = children[0].range();
        return operand == null ? null : members.among(operand);
      }
      ValueRange[] operands = new ValueRange[children.length];
      for (int i = 0; i < children.length; i++) operands[i] = children[i].range();
      if (name.equals("EqualTo")) return ValueRange.equal(operands[0], operands[1], children[0].ordering, false);
      if (name.equals("EqualNullSafe")) return ValueRange.equal(operands[0], operands[1], children[0].ordering, true);
      if (name.equals("StartsWith")) return isPlain(children[0]) ? ValueRange.startsWith(operands[0], operands[1]) : null;
      if (ordering == null || step == null) return null;
      List options = new ArrayList();
      for (int i = 0; i < children.length; i++) {
        if (operands[i] == null) return null;
        options.add(cornersAndTurns(operands[i], i));
      }
      ValueRange found = overProduct(step, options, rule != null && rule.cuts == null);
      if (found == null || rule == null) return found;
      rule.widen(found, type);
      return holds(operands, found) ? found : null;
    }

    /** Whether it is a string that Spark compares byte by byte. */
    private boolean isPlain(Node string) {
      return TreeEncoder.typeName(string.type).equals("string");
    }

    /** Whether the rule's conditions hold of the ranges of the operands and of the result. */
    private boolean holds(ValueRange[] operands, ValueRange result) {
      Object[][] ends = new Object[operands.length + 1][];
      DataType[] types = new DataType[operands.length + 1];
      for (int i = 0; i <= operands.length; i++) {
        ValueRange range = i < operands.length ? operands[i] : result;
        ends[i] = new Object[] {range.low, range.high};
        types[i] = i < operands.length ? children[i].type : type;
      }
      return Conditions.hold(rule, ends, types);
    }

    /** The values of f at all combinations of operands. `strict`: that it gives NULL for none of its own accord. */
    private ValueRange overProduct(Repeated f, List options, boolean strict) {
      int count = 1;
      for (int i = 0; i < options.size(); i++) {
        count *= ((List) options.get(i)).size();
        if (count > MOST_CORNERS) return null;
      }
      ValueRange found = new ValueRange();
      Object[] values = new Object[options.size()];
      InternalRow row = new GenericInternalRow(values);
      for (int corner = 0; corner < count; corner++) {
        int rest = corner;
        boolean anyNull = false;
        for (int i = 0; i < values.length; i++) {
          List choices = (List) options.get(i);
          values[i] = choices.get(rest % choices.size());
          rest /= choices.size();
          anyNull = anyNull || values[i] == null;
        }
        if (f == step && checked != null) checked.eval(row);
        Object value = f.eval(row);
        if (value == null && strict && !anyNull) return null;
        found.add(value, ordering);
      }
      return found;
    }

    private List cornersAndTurns(ValueRange operand, int i) {
      List options = operand.corners(children[i].type);
      if (rule == null || rule.cuts == null || operand.low == null || children[i].constant != null) return options;
      DataType type = children[i].type;
      for (Iterator cuts = rule.cuts.iterator(); cuts.hasNext();) {
        BigInteger cut = new BigInteger(cuts.next().toString());
        Object before = Domain.value(cut.subtract(BigInteger.ONE), type);
        Object after = Domain.value(cut, type);
        scala.math.Ordering order = children[i].ordering;
        if (order.compare(operand.low, before) <= 0 && order.compare(after, operand.high) <= 0) {
          options.add(before);
          options.add(after);
        }
      }
      return options;
    }

    private ValueRange branches() {
      ValueRange found = new ValueRange();
      int i = 0;
      for (; i + 1 < children.length; i += 2) {
        ValueRange condition = children[i].range();
        if (condition.has(Boolean.TRUE) && !join(found, children[i + 1].range())) return null;
        if (!condition.has(Boolean.FALSE) && !condition.hasNull) return found;
      }
      if (i == children.length) found.hasNull = true;
      else if (!join(found, children[i].range())) return null;
      return found;
    }

    private ValueRange firstOfThem() {
      ValueRange found = new ValueRange();
      for (int i = 0; i < children.length; i++) {
        ValueRange next = children[i].range();
        if (next == null) return null;
        boolean more = next.hasNull;
        if (!join(found, next)) return null;
        found.hasNull = more;
        if (!more) break;
      }
      return found;
    }

    private boolean join(ValueRange found, ValueRange next) {
      if (next == null || ordering == null) return false;
      found.addAll(next, ordering);
      return true;
    }
  }

  private final Evaluator evaluator;
  private final Set monotone; // names of functions
  private final IdentityHashMap rules = new IdentityHashMap();
  private final IdentityHashMap targetOf = new IdentityHashMap();
  private final IdentityHashMap targetReferences = new IdentityHashMap();
  private final DataType[] types; // of the targets
  private ValueRange[] inputs; // of one file

  /**
   * @param program JSON: "targets", the numbers of each target's occurrences; "rules", what is claimed of a node by its number;
   * "monotone", the names of functions that are monotone in each operand, always.
   */
  public Ranges(Evaluator evaluator, String program) throws Exception {
    this.evaluator = evaluator;
    Map json = (Map) JSON.readValue(program, Map.class);
    this.monotone = new HashSet((List) json.get("monotone"));
    List places = (List) json.get("targets");
    this.types = new DataType[places.size()];
    this.inputs = new ValueRange[types.length];
    for (int i = 0; i < types.length; i++) {
      for (Iterator ids = ((List) places.get(i)).iterator(); ids.hasNext();) {
        Expression target = evaluator.node(((Integer) ids.next()).intValue());
        types[i] = target.dataType();
        targetOf.put(target, new Integer(i));
        targetReferences.put(target, new BoundReference(i, target.dataType(), true));
      }
    }
    for (Iterator claims = ((Map) json.get("rules")).entrySet().iterator(); claims.hasNext();) {
      Map.Entry claim = (Map.Entry) claims.next();
      rules.put(evaluator.node(Integer.parseInt((String) claim.getKey())), JSON.convertValue(claim.getValue(), Claim.class));
    }
  }

  /**
   * Whether boolean node `id` may be `wanted` in each file, a byte a file: 1 it may, 0 it cannot.
   *
   * Of each target the stream has three columns: its smallest and its largest value in the file, and flags: 1 where the range is
   * known, 2 it holds values, 4 NULL, 8 NaN.
   */
  public String mayBe(int id, boolean wanted, byte[] arrowStream) throws Exception {
    final Node node = new Node(evaluator.node(id));
    final Boolean sought = Boolean.valueOf(wanted);
    DataType[] columns = new DataType[3 * types.length];
    for (int i = 0; i < columns.length; i++) columns[i] = i % 3 == 2 ? DataTypes.ByteType : types[i / 3];
    return Connection.text(Evaluator.answers(node.expression, columns, arrowStream, new Evaluator.Answer() {
      public byte of(InternalRow row) {
        for (int t = 0; t < inputs.length; t++) inputs[t] = ValueRange.input(row, t, types[t]);
        ValueRange range = node.range();
        return (byte) (range == null || range.has(sought) ? 1 : 0);
      }
    }));
  }

  private static scala.math.Ordering orderingOf(DataType type) {
    try {
      return TypeUtils.getInterpretedOrdering(type);
    } catch (Throwable none) {
      return null;
    }
  }

  private static boolean isFloatZero(Object value) {
    return (value instanceof Double || value instanceof Float) && ((Number) value).doubleValue() == 0;
  }
}

package data_skip;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Window;
import org.apache.spark.sql.catalyst.plans.logical.WindowGroupLimit;
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Operators that take rows together by keys: GROUP BY, DISTINCT, windows with PARTITION BY. A predicate about keys alone is true
 * of all rows of a group or of none, so that it may be asked of the rows below: a group loses all of its rows or none.
 */
public final class Groups {
  private static final String OWN_AGGREGATES = "org.apache.spark.sql.catalyst.expressions.aggregate."; // not those of users

  private Groups() {}

  public static boolean of(LogicalPlan plan) {
    return plan instanceof Aggregate || plan instanceof Window || plan instanceof WindowGroupLimit;
  }

  /** An expression with NULL in place of Spark's own aggregate functions of what is deterministic: each group has a buffer of its own. */
  public static Expression withoutAggregates(Expression expression) {
    return (Expression) expression.transformDown(new scala.runtime.AbstractPartialFunction() {
      public boolean isDefinedAt(Object node) {
        if (!(node instanceof AggregateExpression)) return false;
        AggregateExpression aggregate = (AggregateExpression) node;
        if (!aggregate.aggregateFunction().getClass().getName().startsWith(OWN_AGGREGATES)) return false;
        scala.collection.Iterator inputs = aggregate.aggregateFunction().children().iterator();
        while (inputs.hasNext()) if (!Determinism.holds((Expression) inputs.next())) return false;
        return aggregate.filter().isEmpty() || Determinism.holds((Expression) aggregate.filter().get());
      }

      public Object applyOrElse(Object node, scala.Function1 otherwise) {
        return isDefinedAt(node) ? new Literal(null, ((AggregateExpression) node).dataType()) : otherwise.apply(node);
      }
    });
  }

  /** By the id of an attribute of the operator's output the key below that it equals. */
  public static Map keys(LogicalPlan plan) {
    Map keys = new HashMap();
    List by = keyed(plan);
    scala.collection.Iterator output = (plan instanceof Aggregate ? ((Aggregate) plan).aggregateExpressions() : plan.output()).iterator();
    while (output.hasNext()) {
      NamedExpression named = (NamedExpression) output.next();
      Expression value = named instanceof Alias ? ((Alias) named).child() : (Expression) named;
      for (int i = 0; i < by.size(); i++) if (value.semanticEquals((Expression) by.get(i))) keys.put(named.exprId(), value);
    }
    return keys;
  }

  /** The keys whose equal values no expression tells apart: not 0.0 and -0.0, nor texts that a collation takes for the same. */
  private static List keyed(LogicalPlan plan) {
    scala.collection.immutable.Seq by;
    if (plan instanceof Aggregate) by = ((Aggregate) plan).groupingExpressions();
    else by = plan instanceof Window ? ((Window) plan).partitionSpec() : ((WindowGroupLimit) plan).partitionSpec();
    List result = new ArrayList();
    for (int i = 0; i < by.size(); i++) {
      Expression key = (Expression) by.apply(i);
      if (exact(key.dataType()) && Determinism.holds(key) && !(plan instanceof Aggregate && SessionWindows.is(key))) result.add(key);
    }
    return result;
  }

  /** Whether no expression tells equal values of a type apart. */
  public static boolean exact(DataType type) {
    if (type instanceof ArrayType) return exact(((ArrayType) type).elementType());
    if (type instanceof StructType) {
      StructField[] fields = ((StructType) type).fields();
      for (int i = 0; i < fields.length; i++) if (!exact(fields[i].dataType())) return false;
      return true;
    }
    return type instanceof AtomicType && !(type instanceof FloatType) && !(type instanceof DoubleType) && UnsafeRowUtils.isBinaryStable(type);
  }

  /** Those attributes of the output that have one of these ids. */
  public static AttributeSet attributes(LogicalPlan plan, Map ids) {
    List result = new ArrayList();
    scala.collection.Iterator output = plan.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      if (ids.containsKey(attribute.exprId())) result.add(attribute);
    }
    return org.apache.spark.sql.catalyst.expressions.AttributeSet$.MODULE$.apply(Plans.seq(result));
  }
}

package data_skip;

import java.util.concurrent.atomic.AtomicReference;
import org.apache.spark.serializer.JavaSerializer;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.ScalaUDF;
import org.apache.spark.sql.types.ObjectType;

/** Expressions that are evaluated here, while others evaluate those of the same DataFrame. */
public final class Unshared {
  private static final JavaSerializer TASKS = new JavaSerializer(new org.apache.spark.SparkConf(false)); // as SparkEnv has it

  private Unshared() {}

  /**
   * The expression with a state of its own, to be evaluated here: lambda variables hold values, and evaluators (as of to_json and xpath) and
   * users' functions what they write to. Threads share those of one DataFrame; a task is given a copy, made as this one.
   */
  public static Expression of(Expression expression) {
    Expression own = withOwnVariables(expression).freshCopyIfContainsStatefulExpression();
    if (!hasState(own)) return own;
    SerializerInstance serializer = TASKS.newInstance();
    ClassLoader loader = org.apache.spark.util.Utils$.MODULE$.getContextOrSparkClassLoader();
    scala.reflect.ClassTag tag = scala.reflect.ClassTag$.MODULE$.apply(Expression.class);
    return (Expression) serializer.deserialize(serializer.serialize(own, tag), loader, tag);
  }

  private static Expression withOwnVariables(Expression expression) {
    if (expression instanceof NamedLambdaVariable) {
      NamedLambdaVariable shared = (NamedLambdaVariable) expression;
      return new NamedLambdaVariable(shared.name(), shared.dataType(), shared.nullable(), shared.exprId(), new AtomicReference());
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return withOwnVariables((Expression) child);
          }
        });
  }

  /** Whether an expression holds an object, or is none of Spark's own. What these keep besides is made anew with each copy. */
  private static boolean hasState(Expression expression) {
    boolean object = expression instanceof Literal && expression.dataType() instanceof ObjectType;
    if (object || expression instanceof ScalaUDF || !expression.getClass().getName().startsWith("org.apache.spark.sql.catalyst.")) return true;
    scala.collection.Iterator children = expression.children().iterator();
    while (children.hasNext()) if (hasState((Expression) children.next())) return true;
    return false;
  }
}

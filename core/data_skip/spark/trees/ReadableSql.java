package data_skip;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LambdaFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PrettyAttribute;
import org.apache.spark.sql.types.UserDefinedType;

/** Expressions in SQL, for people to read in reports. */
public final class ReadableSql {
  private static final int MOST_TEXT = 1000;

  private ReadableSql() {}

  /** An expression in SQL: the beginning of what is long. Far dates have no text in Spark's old calendar: then in short. */
  public static String of(Expression expression) {
    String text;
    try {
      text = readable(expression).sql();
    } catch (ArithmeticException overflow) {
      text = expression.prettyName() + "(...)";
    }
    return text.length() <= MOST_TEXT ? text : text.substring(0, MOST_TEXT) + "...";
  }

  /** With lambda functions as people write them, and constants of user-defined types as these write them. */
  private static Expression readable(Expression expression) {
    if (expression instanceof Literal && expression.dataType() instanceof UserDefinedType && ((Literal) expression).value() != null) {
      String text = String.valueOf(((UserDefinedType) expression.dataType()).deserialize(((Literal) expression).value()));
      return new PrettyAttribute("'" + text + "'", expression.dataType());
    }
    if (expression instanceof NamedLambdaVariable) {
      return new PrettyAttribute(((NamedLambdaVariable) expression).name(), expression.dataType());
    }
    if (expression instanceof LambdaFunction) {
      LambdaFunction lambda = (LambdaFunction) expression;
      String names = "";
      for (int i = 0; i < lambda.arguments().size(); i++) {
        names += (i > 0 ? ", " : "") + ((NamedExpression) lambda.arguments().apply(i)).name();
      }
      String arguments = lambda.arguments().size() == 1 ? names : "(" + names + ")";
      return new PrettyAttribute(arguments + " -> " + readable(lambda.function()).sql(), lambda.function().dataType());
    }
    return (Expression) expression.mapChildren(new scala.runtime.AbstractFunction1() {
      public Object apply(Object child) {
        return readable((Expression) child);
      }
    });
  }
}

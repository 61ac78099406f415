package data_skip;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.classic.SparkSession;

/** Expressions that stand in an index, and which somebody else may have written there. */
public final class Foreign {
  /** Functions that call code by its name, or read a file that is named. */
  private static final Set REFUSED = new HashSet(
      Arrays.asList(
          new String[] {
            "reflect", "java_method", "try_reflect", "from_protobuf", "to_protobuf", "schema_of_xml", "read_files", "http_request", "ai_query", "rs_frompath"
          }));
  private static final int PLAIN_OF_XML = 2; // arguments; a further one holds options, of which one names a file

  /** Why one may not be analysed, let alone evaluated; "" where it may. It is parsed, and nothing in it is looked up. */
  public static String whyNotEvaluated(SparkSession session, String sql) throws Exception {
    ArrayDeque open = new ArrayDeque();
    try {
      open.add(session.sessionState().sqlParser().parseExpression(sql));
    } catch (StackOverflowError error) {
      return "is nested too deep";
    }
    while (!open.isEmpty()) {
      Expression node = (Expression) open.pop();
      if (node instanceof PlanExpression) return "holds a subquery";
      if (node.getClass().getSimpleName().contains("Identifier")) return "names a function or a column by an expression";
      if (node instanceof UnresolvedFunction) {
        UnresolvedFunction call = (UnresolvedFunction) node;
        String name = ((String) call.nameParts().last()).toLowerCase(Locale.ROOT);
        boolean ofXml = name.equals("from_xml") && call.arguments().size() > PLAIN_OF_XML;
        if (REFUSED.contains(name) || ofXml) return "calls " + name;
      }
      scala.collection.Iterator children = node.children().iterator();
      while (children.hasNext()) open.push(children.next());
    }
    return "";
  }
}

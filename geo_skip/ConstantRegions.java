package geo_skip;

import data_skip.Plans;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PythonUDF;
import org.apache.spark.sql.catalyst.plans.logical.ArrowEvalPython;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.PlanLater;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Python's f(region, lat, lng) of a constant region is planned as a function of (lat, lng) that holds the region: Spark would ship the
 * region with every row. Done by the physical planner, so that the optimizer, and filters, see the function as it was written.
 */
public final class ConstantRegions extends SparkStrategy {
  private final Map names;

  /** `names`: of the functions, by their commands. */
  public ConstantRegions(Map names) {
    this.names = names;
  }

  public void install(org.apache.spark.sql.classic.SparkSession session) {
    List strategies = new ArrayList();
    scala.collection.Iterator installed = session.experimental().extraStrategies().iterator();
    while (installed.hasNext()) {
      Object strategy = installed.next();
      if (!strategy.getClass().getName().equals(getClass().getName())) strategies.add(strategy);
    }
    strategies.add(this);
    session.experimental().extraStrategies_$eq(Plans.seq(strategies));
  }

  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    if (!(plan instanceof ArrowEvalPython)) return Plans.seq(Collections.emptyList());
    LogicalPlan held = (LogicalPlan) plan.mapExpressions(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object expression) {
            return expression instanceof PythonUDF ? holding((PythonUDF) expression) : expression;
          }
        });
    return Plans.seq(held == plan ? Collections.emptyList() : Collections.singletonList(new PlanLater(held)));
  }

  private PythonUDF holding(PythonUDF call) {
    Object name = names.get(call.func().command());
    if (name == null || call.children().size() != 3 || !(call.children().head() instanceof Literal)) return call;
    Object region = ((Literal) call.children().head()).value();
    if (region == null) return call;
    PythonFunction old = call.func();
    PythonFunction function = new SimplePythonFunction(
        command(name.toString(), region), old.envVars(), old.pythonIncludes(), old.pythonExec(), old.pythonVer(), old.broadcastVars(),
        old.accumulator());
    scala.collection.immutable.Seq children = (scala.collection.immutable.Seq) call.children().tail();
    return call.copy(call.name(), function, call.dataType(), children, call.evalType(), call.udfDeterministic(), call.resultId());
  }

  /** The pickle of what Python's `geo_skip.functions.holding(name, region)` gives. */
  private static byte[] command(String name, Object region) {
    ByteArrayOutputStream pickle = new ByteArrayOutputStream();
    pickle.writeBytes("\u0080\u0003cgeo_skip.functions\nholding\n".getBytes(StandardCharsets.ISO_8859_1));
    put(pickle, 'X', name.getBytes(StandardCharsets.UTF_8));
    if (region instanceof UTF8String) put(pickle, 'X', ((UTF8String) region).getBytes());
    else put(pickle, 'B', (byte[]) region);
    pickle.writeBytes("\u0086R.".getBytes(StandardCharsets.ISO_8859_1)); // a tuple of these two, the call, the end
    return pickle.toByteArray();
  }

  /** Text or bytes, after their length. */
  private static void put(ByteArrayOutputStream pickle, char kind, byte[] value) {
    pickle.write(kind);
    pickle.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(value.length).array());
    pickle.writeBytes(value);
  }
}

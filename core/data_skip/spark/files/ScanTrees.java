package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;

/** The expressions of a scan: what filters ask of them while files are chosen, and reports later. */
public final class ScanTrees {
  private final TreeEncoder encoder;
  private final PythonWorkers workers;
  private final List runtimeFilters;

  public ScanTrees(TreeEncoder encoder, List runtimeFilters) {
    this(encoder, new PythonWorkers(), runtimeFilters);
  }

  private ScanTrees(TreeEncoder encoder, PythonWorkers workers, List runtimeFilters) {
    this.encoder = encoder;
    this.workers = workers;
    this.runtimeFilters = runtimeFilters;
  }

  /** The same without plans, which hold lists of files: as reports keep it, for long. */
  public ScanTrees withoutPlans() {
    List alone = new ArrayList();
    for (int i = 0; i < runtimeFilters.size(); i++) alone.add(((RuntimeFilter) runtimeFilters.get(i)).withoutSide());
    return new ScanTrees(encoder, workers, alone);
  }

  /** The predicate, ready for JSON; numbers its nodes, by which it is asked about. */
  public Object encode(Expression predicate) {
    return encoder.encode(predicate);
  }

  public Evaluator evaluator() {
    return new Evaluator(encoder.nodes, workers);
  }

  public Ranges ranges(String program) throws Exception {
    return new Ranges(evaluator(), program);
  }

  /** What Python functions of the predicate give, as long as files are chosen. */
  public PythonWorkers workers() {
    return workers;
  }

  /** Of a runtime filter, for people. */
  public String runtimeFilter(int i) {
    return ((RuntimeFilter) runtimeFilters.get(i)).sql();
  }
}

package data_skip;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.XxHash64;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.text.TextFileFormat;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/**
 * A part of a query that is run by itself, for fewer columns than the query asks of it, and yet reads the same columns of its files.
 *
 * For what a reader makes of one column may depend on the others that it is asked for. A record of JSON with an odd value is NULL as a whole
 * where that is left out, and else in part; a struct of which a Parquet file lacks all fields that are asked for is NULL; and where Spark reads
 * row by row, a default of Parquet goes by the places of the columns, and a map of ORC is another one: see steady.py and reader.py.
 */
public final class SameColumns {
  private SameColumns() {}

  /** The plan with a filter that is always true, and asks for the columns that each scan reads as the plan stands. */
  public static LogicalPlan of(LogicalPlan plan) {
    return of(plan, null);
  }

  /** Whether a condition asks for columns alone: it is true of every row. */
  public static boolean asksAlone(Expression condition) {
    if (!(condition instanceof GreaterThanOrEqual) || !(condition.children().head() instanceof XxHash64)) return false;
    Object least = condition.children().last();
    return least instanceof Literal && new Long(Long.MIN_VALUE).equals(((Literal) least).value());
  }

  /** What is asked of the rows below an operator, of whose own rows `asked` is; null: all columns. */
  public static AttributeSet below(LogicalPlan plan, AttributeSet asked) {
    if (plan instanceof Project) return plan.references();
    return plan instanceof Filter && asked != null ? asked.$plus$plus(plan.references()) : null;
  }

  /** asked: what is asked of the plan's rows; null: all columns. */
  private static LogicalPlan of(LogicalPlan plan, final AttributeSet asked) {
    if (plan instanceof LogicalRelation) return reading((LogicalRelation) plan, asked);
    final AttributeSet below = below(plan, asked);
    return (LogicalPlan) plan.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return of((LogicalPlan) child, below);
          }
        });
  }

  private static LogicalPlan reading(LogicalRelation scan, AttributeSet asked) {
    if (!(scan.relation() instanceof HadoopFsRelation)) return scan;
    HadoopFsRelation files = (HadoopFsRelation) scan.relation();
    boolean byField = files.fileFormat() instanceof ParquetFileFormat || files.fileFormat() instanceof OrcFileFormat;
    boolean maps = files.fileFormat() instanceof OrcFileFormat && holds(files.dataSchema(), MapType.class, false);
    boolean alone = byField && !maps && !hasDefault(files.dataSchema()) && !holds(files.dataSchema(), StructType.class, true);
    if (files.fileFormat() instanceof TextFileFormat || alone) return scan;
    List read = new ArrayList();
    scala.collection.Iterator output = scan.output().iterator();
    while (output.hasNext()) {
      Attribute attribute = (Attribute) output.next();
      if (!maps && attribute.metadata().contains("__metadata_col") || asked != null && !asked.contains(attribute)) continue; // maps go by how many
      DataType type = attribute.dataType();
      // Spark hashes no maps; and by which fields a map is read, nothing else tells: then Spark refuses the plan, and it is not run.
      boolean hashed = !holds(type, MapType.class, false) && !holds(type, VariantType.class, false);
      read.add(hashed || byField && holds(type, StructType.class, false) ? attribute : new IsNull(attribute));
    }
    if (read.isEmpty()) return scan;
    return new Filter(new GreaterThanOrEqual(new XxHash64(Plans.seq(read)), new Literal(new Long(Long.MIN_VALUE), DataTypes.LongType)), scan);
  }

  /** Whether a column has a value for files that lack it. */
  private static boolean hasDefault(StructType schema) {
    for (int i = 0; i < schema.fields().length; i++) if (schema.fields()[i].metadata().contains("EXISTS_DEFAULT")) return true;
    return false;
  }

  /** Whether a type is of a kind or holds one; inside: whether it holds one below itself. */
  private static boolean holds(final DataType type, final Class kind, final boolean inside) {
    return type.existsRecursively(new scala.runtime.AbstractFunction1() {
      public Object apply(Object part) {
        return Boolean.valueOf(kind.isInstance(part) && !(inside && part == type));
      }
    });
  }
}

package data_skip;

import java.util.Collections;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table whose rows are the answer to a statement: asked once for each query, when Spark makes its physical plan. */
public final class AnswerTable implements SupportsRead {
  private final Statement statement;
  private final StructType columns;

  public AnswerTable(Statement statement, StructType columns) {
    this.statement = statement;
    this.columns = columns;
  }

  public String name() {
    return statement.toString();
  }

  public StructType schema() {
    return columns;
  }

  public Set capabilities() {
    return Collections.singleton(TableCapability.BATCH_READ);
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new ScanBuilder() {
      public Scan build() {
        return new Answer(statement, columns);
      }
    };
  }

  /** The rows, for one query; adaptive execution plans it several times. */
  public static final class Answer implements LocalScan {
    private final Statement statement;
    private final StructType columns;
    private InternalRow[] rows;

    public Answer(Statement statement, StructType columns) {
      this.statement = statement;
      this.columns = columns;
    }

    public StructType readSchema() {
      return columns;
    }

    public synchronized InternalRow[] rows() {
      if (rows == null) rows = statement.rows();
      return rows;
    }

    public String description() {
      return statement.toString();
    }
  }
}

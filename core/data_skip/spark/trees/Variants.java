package data_skip;

import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.variant.VariantGet;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A VARIANT as users wrote of it. Since 4.1 Spark's optimizer has the scan give a struct in its place (PushVariantIntoScan): of what the query
 * takes of it, by fields that are called 0, 1, ... in the order in which it does, so that `v.0` is another value in each query.
 */
public final class Variants {
  private static final String TAKEN = "__VARIANT_METADATA_KEY"; // of such a field: which part of the variant, and how it is cast

  private Variants() {}

  /** The columns of a scan. */
  public static StructType asWritten(StructType columns) {
    return (StructType) asWritten((DataType) columns);
  }

  private static DataType asWritten(DataType type) {
    if (!(type instanceof StructType)) return type;
    StructField[] fields = ((StructType) type).fields();
    if (isTaken(type)) return DataTypes.VariantType;
    StructField[] written = new StructField[fields.length];
    boolean changed = false;
    for (int i = 0; i < fields.length; i++) {
      DataType own = asWritten(fields[i].dataType());
      changed |= own != fields[i].dataType();
      written[i] = new StructField(fields[i].name(), own, fields[i].nullable(), fields[i].metadata());
    }
    return changed ? new StructType(written) : type;
  }

  /** An expression over the columns of a scan. */
  public static Expression asWritten(Expression expression) {
    if (expression instanceof AttributeReference) {
      DataType written = asWritten(expression.dataType());
      return written == expression.dataType() ? expression : ((AttributeReference) expression).withDataType(written);
    }
    if (expression instanceof GetStructField && isTaken(((GetStructField) expression).child().dataType())) {
      GetStructField part = (GetStructField) expression;
      return taken(asWritten(part.child()), ((StructType) part.child().dataType()).fields()[part.ordinal()]);
    }
    return (Expression) expression.mapChildren(
        new scala.runtime.AbstractFunction1() {
          public Object apply(Object child) {
            return asWritten((Expression) child);
          }
        });
  }

  /** What a field is of a variant: a cast of all of it is the same as of the part `$`. */
  private static Expression taken(Expression variant, StructField field) {
    Metadata how = field.metadata().getMetadata(TAKEN);
    String path = how.getString("path");
    if (path.equals("$") && field.dataType() instanceof VariantType) return variant;
    Literal part = new Literal(UTF8String.fromString(path), DataTypes.StringType);
    return new VariantGet(variant, part, field.dataType(), how.getBoolean("failOnError"), scala.Option.apply(how.getString("timeZoneId")));
  }

  /** Whether a type is such a struct: Spark marks all of its fields. */
  private static boolean isTaken(DataType type) {
    if (!(type instanceof StructType)) return false;
    StructField[] fields = ((StructType) type).fields();
    return fields.length > 0 && fields[0].metadata().contains(TAKEN);
  }
}

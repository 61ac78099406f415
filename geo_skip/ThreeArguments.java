package geo_skip;

import data_skip.Plans;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;

/**
 * One of Sedona's functions of two geometries, which also takes (region, lat, lng): f(geometry of the region, ST_Point(lng, lat)).
 * Calls with other numbers of arguments are Sedona's own.
 */
public final class ThreeArguments extends scala.runtime.AbstractFunction1 {
  private final scala.Function1 sedona;
  private final scala.Function1 point;
  private final scala.Function1 fromWkt;
  private final scala.Function1 fromGeoJson;
  private final scala.Function1 fromWkb;

  public ThreeArguments(
      scala.Function1 sedona, scala.Function1 point, scala.Function1 fromWkt, scala.Function1 fromGeoJson, scala.Function1 fromWkb) {
    this.sedona = sedona;
    this.point = point;
    this.fromWkt = fromWkt;
    this.fromGeoJson = fromGeoJson;
    this.fromWkb = fromWkb;
  }

  public Object apply(Object given) {
    List arguments = scala.jdk.javaapi.CollectionConverters.asJava((scala.collection.Seq) given);
    if (arguments.size() != 3) return sedona.apply(given);
    Object lat = asDouble((Expression) arguments.get(1));
    Object lng = asDouble((Expression) arguments.get(2));
    return sedona.apply(list(new Object[] {geometry((Expression) arguments.get(0)), point.apply(list(new Object[] {lng, lat}))}));
  }

  private Object geometry(Expression region) {
    DataType type = region.dataType();
    if (type instanceof BinaryType) return fromWkb.apply(list(new Object[] {region}));
    if (!(type instanceof StringType)) return region;
    boolean json = region instanceof Literal && String.valueOf(((Literal) region).value()).trim().startsWith("{");
    return (json ? fromGeoJson : fromWkt).apply(list(new Object[] {region}));
  }

  private static Expression asDouble(Expression number) {
    if (number.dataType().equals(DataTypes.DoubleType)) return number;
    return new Cast(number, DataTypes.DoubleType, scala.Option.empty(), Cast.apply$default$4());
  }

  private static Object list(Object[] items) {
    return Plans.seq(Arrays.asList(items));
  }
}

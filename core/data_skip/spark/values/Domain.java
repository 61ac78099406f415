package data_skip;

import java.math.BigInteger;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/**
 * The values of an ordered type, numbered in Spark's order: integers, days and microseconds by themselves, a decimal by its
 * unscaled value, floating point numbers by their bits (-0.0 and 0.0 share 0). NaN has no number. Of dates and times only the
 * years 1 to 9999 count: beyond them Spark promises nothing, and its functions may overflow.
 */
public final class Domain {
  private Domain() {}

  public static boolean has(DataType type) {
    return width(type) > 0 || type instanceof DecimalType || type instanceof FloatType || type instanceof DoubleType;
  }

  private static int width(DataType type) {
    if (type instanceof ByteType) return 8;
    if (type instanceof ShortType) return 16;
    if (type instanceof IntegerType || type instanceof DateType) return 32;
    if (type instanceof LongType || type instanceof TimestampType || type instanceof TimestampNTZType) return 64;
    return 0;
  }

  public static BigInteger largest(DataType type) {
    if (type instanceof DecimalType) return BigInteger.TEN.pow(((DecimalType) type).precision()).subtract(BigInteger.ONE);
    if (type instanceof FloatType) return BigInteger.valueOf(Float.floatToIntBits(Float.POSITIVE_INFINITY));
    if (type instanceof DoubleType) return BigInteger.valueOf(Double.doubleToLongBits(Double.POSITIVE_INFINITY));
    if (Conditions.isTime(type)) return BigInteger.valueOf(Conditions.last(type));
    return BigInteger.ONE.shiftLeft(width(type) - 1).subtract(BigInteger.ONE);
  }

  public static BigInteger smallest(DataType type) {
    if (type instanceof DecimalType || type instanceof FloatType || type instanceof DoubleType) return largest(type).negate();
    if (Conditions.isTime(type)) return BigInteger.valueOf(Conditions.first(type));
    return BigInteger.ONE.shiftLeft(width(type) - 1).negate();
  }

  public static Object value(BigInteger ordinal, DataType type) {
    if (type instanceof ByteType) return new Byte(ordinal.byteValue());
    if (type instanceof ShortType) return new Short(ordinal.shortValue());
    if (type instanceof IntegerType || type instanceof DateType) return new Integer(ordinal.intValue());
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      if (decimal.precision() <= Decimal.MAX_LONG_DIGITS()) return Decimal.createUnsafe(ordinal.longValue(), decimal.precision(), decimal.scale());
      java.math.BigDecimal exact = new java.math.BigDecimal(ordinal, decimal.scale());
      return Decimal.apply(exact, decimal.precision(), decimal.scale());
    }
    if (type instanceof FloatType) {
      int bits = ordinal.intValue();
      return new Float(bits >= 0 ? Float.intBitsToFloat(bits) : -Float.intBitsToFloat(-bits));
    }
    if (type instanceof DoubleType) {
      long bits = ordinal.longValue();
      return new Double(bits >= 0 ? Double.longBitsToDouble(bits) : -Double.longBitsToDouble(-bits));
    }
    return new Long(ordinal.longValue());
  }
}

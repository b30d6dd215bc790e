// SPDX-License-Identifier: GPL-2.0-only
#include "config.h"

#include "num/saturating.h"

/* The product is HIGH * 2^64 + LOW. */
struct product {
	uint64_t high;
	uint64_t low;
};

static struct product multiply(uint64_t a, uint64_t b)
{
	uint64_t a_low = (uint32_t)a, a_high = a >> 32;
	uint64_t b_low = (uint32_t)b, b_high = b >> 32;
	uint64_t low = a_low * b_low;
	/* no sum of these can overflow: the largest is (2^32 - 1)^2 + 2 * (2^32 - 1) */
	uint64_t middle = a_high * b_low + (low >> 32);
	uint64_t other_middle = a_low * b_high + (uint32_t)middle;

	return (struct product){
		.high = a_high * b_high + (middle >> 32) + (other_middle >> 32),
		.low = other_middle << 32 | (uint32_t)low,
	};
}

/* Bit by bit, as on paper; the high half is the remainder so far, less than DIVISOR. */
static uint64_t divide(struct product product, uint64_t divisor)
{
	for (int bit = 0; bit < 64; bit++) {
		uint64_t carry = product.high >> 63;

		product.high = product.high << 1 | product.low >> 63;
		product.low <<= 1;
		if (!carry && product.high < divisor)
			continue;
		product.high -= divisor;
		product.low |= 1;
	}
	return product.low;
}

uint64_t mul_div(uint64_t a, uint64_t b, uint64_t divisor)
{
	struct product product = multiply(a, b);

	if (product.high >= divisor)
		return UINT64_MAX;
	return product.high ? divide(product, divisor) : product.low / divisor;
}

uint64_t mul_div_up(uint64_t a, uint64_t b, uint64_t divisor)
{
	return a - mul_div(a, divisor - b, divisor);
}

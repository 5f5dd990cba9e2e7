"""Bessel functions of one element, as ScalarExprs: what kernels compute of J, Y, I and K of integer order.

    I_0(x) exp(-x) = a Chebyshev series of x / 2 - 2 up to 8, of 32 / x - 2, over sqrt(x), beyond; K the same from 2 on
    J_0(x) = (x^2 - r^2) (x^2 - s^2) P(x^2) / Q(x^2) up to 5, r and s its first zeros; beyond
             sqrt(2 / (pi x)) (p(25 / x^2) cos(x - pi / 4) - 5 / x q(25 / x^2) sin(x - pi / 4))

Orders 0 and 1 are Cephes's approximations (Moshier 1989), at most 4e-16 off in float64 beside the function's size near there.
Higher orders come by recurrence (Abramowitz and Stegun 9.1.27, 9.6.26), of J and I below the order by the power series (9.1.10,
9.6.10), where recurrence cancels. Floats of 32 bits and less take series of as many terms as their digits need. The phase is no
difference: cos(x - pi / 4) = (cos x + sin x) / sqrt(2), so large arguments lose no more than sin and cos do.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..common import dtype as dt
from ..mindir.loops import CannotFuse
from ..mindir.scalar import call, compute_dtype, where

_PHASE = 2.0 ** 40                                # floats beyond have no sine in kernels; J and Y, below 1e-6 there, are 0
HIGHEST = 4                                       # the highest order that kernels compute; above, NumPy does (bessel.py)
_SHORT, _LONG = 1e-9, 1e-17                       # the least coefficient of a series that counts in float32, in float64
_FIRST_TURN, _SECOND_TURN = 5.0, 8.0              # up to here J and Y, I have one approximation, beyond another

# Cephes's tables, Chebyshev series and polynomials, the highest term first
_I0_NEAR = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
    -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12,
    -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09,
    -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
    -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998, -0.02373741480589947,
    0.04930528423967071, -0.09490109704804764, 0.17162090152220877, -0.3046826723431984, 0.6767952744094761)
_I0_FAR = (
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
    -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15,
    -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13,
    7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
    1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
    2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943, 0.8044904110141088)
_I1_NEAR = (
    2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16, -1.1055969477353862e-15,
    7.600684294735408e-15, -5.042185504727912e-14, 3.223793365945575e-13, -1.9839743977649436e-12,
    1.1736186298890901e-11, -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-09,
    9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07, -8.568720264695455e-07,
    3.4702513081376785e-06, -1.3273163656039436e-05, 4.781565107550054e-05, -0.00016176081582589674,
    0.0005122859561685758, -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197, 0.024726449030626516,
    -0.05294598120809499, 0.1026436586898471, -0.17641651835783406, 0.25258718644363365)
_I1_FAR = (
    7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17, -3.209525921993424e-17,
    2.96262899764595e-16, 3.3082023109209285e-16, -1.8803547755107825e-15, -3.8144030724370075e-15,
    1.0420276984128802e-14, 4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11, 3.2526035830154884e-11,
    -1.8974958123505413e-11, -5.589743462196584e-10, -3.835380385964237e-09, -2.6314688468895196e-08,
    -2.512236237870209e-07, -3.882564808877691e-06, -0.00011058893876262371, -0.009761097491361469,
    0.7785762350182801)
_K0_NEAR = (
    1.374465435613523e-16, 4.25981614279661e-14, 1.0349695257633842e-11, 1.904516377220209e-09,
    2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926, 0.0359799365153615, 0.3442898999246285,
    -0.5353273932339028)
_K0_FAR = (
    5.300433772686263e-18, -1.6475804301524212e-17, 5.2103915050390274e-17, -1.678231096805412e-16,
    5.512055978524319e-16, -1.848593377343779e-15, 6.3400764774050706e-15, -2.2275133269916698e-14,
    8.032890775363575e-14, -2.9800969231727303e-13, 1.140340588208475e-12, -4.514597883373944e-12,
    1.8559491149547177e-11, -7.957489244477107e-11, 3.577397281400301e-10, -1.69753450938906e-09,
    8.574034017414225e-09, -4.660489897687948e-08, 2.766813639445015e-07, -1.8317555227191195e-06,
    1.39498137188765e-05, -0.00012849549581627802, 0.0015698838857300533, -0.0314481013119645, 2.4403030820659555)
_K1_NEAR = (
    -7.023863479386288e-18, -2.427449850519366e-15, -6.666901694199329e-13, -1.4114883926335278e-10,
    -2.213387630734726e-08, -2.4334061415659684e-06, -0.0001730288957513052, -0.006975723859639864,
    -0.12261118082265715, -0.3531559607765449, 1.5253002273389478)
_K1_FAR = (
    -5.756744483665017e-18, 1.7940508731475592e-17, -5.689462558442859e-17, 1.838093544366639e-16,
    -6.057047248373319e-16, 2.038703165624334e-15, -7.019837090418314e-15, 2.4771544244813043e-14,
    -8.976705182324994e-14, 3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12,
    -2.1299678384275683e-11, 9.218315187605006e-11, -4.1903547593418965e-10, 2.015049755197033e-09,
    -1.0345762465678097e-08, 5.7410841254500495e-08, -3.5019606030878126e-07, 2.406484947837217e-06,
    -1.936197974166083e-05, 0.00019521551847135162, -0.002857816859622779, 0.10392373657681724, 2.7206261904844427)
_J0_ABOVE = (
    -4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0)
_J0_BELOW = (
    1.0, 499.563147152651, 173785.4016763747, 48440965.83399621, 11185553704.535683, 2112775201154.892,
    310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18)
_Y0_ABOVE = (
    15592.436785523574, -14663929.59039716, 5435264770.518765, -982136065717.9115, 87590639439536.7,
    -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16)
_Y0_BELOW = (
    1.0, 1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.3935, 20297961275010.555,
    3171577528429750.5, 2.5059625617265306e+17)
_P0_ABOVE = (
    0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687, 8.74716500199817,
    5.303240382353949, 1.0)
_P0_BELOW = (
    0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171, 8.761908832370695,
    5.306052882353947, 1.0)
_Q0_ABOVE = (
    -0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683, -177.68116798048806,
    -147.07750515495118, -51.41053267665993, -6.050143506007285)
_Q0_BELOW = (
    1.0, 64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169,
    2062.0933166032783, 242.0057402402914)
_J1_ABOVE = (
    -899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0)
_J1_BELOW = (
    1.0, 620.8364781180543, 256987.25675774884, 83514679.14319493, 22151159547.97925, 4749141220799.914,
    784369607876235.9, 8.952223361846274e+16, 5.322786203326801e+18)
_Y1_ABOVE = (
    1263204747.9017804, -647355876379.1603, 114509511541823.73, -8127702555013251.0, 2.024394757135949e+17,
    -7.788771962659501e+17)
_Y1_BELOW = (
    1.0, 594.3015923461282, 235564.09294306856, 73481194.44597217, 18760131610.870617, 3882312774962.3857,
    620557727146953.8, 6.871410873553005e+16, 3.9727060811656064e+18)
_P1_ABOVE = (
    0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076, 8.424045901417724,
    5.214515986823615, 1.0)
_P1_BELOW = (
    0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015, 8.399855543276042,
    5.209828486823619, 1.0)
_Q1_ABOVE = (
    0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508, 710.8563049989261,
    597.4896124006136, 211.68875710057213, 25.207020585802372)
_Q1_BELOW = (
    1.0, 74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562, 7997.041604473507,
    2826.1927851763908, 336.0936078106983)
_J0_ZEROS, _J1_ZEROS = (5.783185962946785, 30.471262343662086), (14.681970642123893, 49.21845632169460)


# ---------------------------------------------------------------- sums of series

def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The polynomial with these coefficients, the highest power first, of a ScalarExpr or an ndarray."""
    out: Any = coefficients[0]
    for c in coefficients[1:]:
        out = out * x + c
    return out


def _least(x):
    """The least coefficient that counts in the dtype that x computes in."""
    return _LONG if compute_dtype(x.dtype) is dt.float64 else _SHORT


def _chebyshev(x, coefficients):
    """Half the first and the other terms of a Chebyshev series of x / 2, the highest first (Clenshaw 1955)."""
    least = _least(x)
    counted = [k for k, c in enumerate(coefficients) if c > least or -c > least]
    first, *rest = coefficients[counted[0]:]
    a, b, before = first, 0.0, 0.0
    for c in rest:
        a, b, before = x * a - b + c, a, b
    return 0.5 * (a - before)


def _power_series(t, n, largest):
    """The sum of t^k / (k! (n+1) (n+2) .. (n+k)) for |t| <= largest: I_n or J_n without (x / 2)^n / n! (9.6.10)."""
    terms, least = [1.0], _least(t)
    while terms[-1] * largest ** (len(terms) - 1) > least:
        terms.append(terms[-1] / (len(terms) * (len(terms) + n)))
    return polynomial(t, terms[::-1])


def power(x, n):
    """x to the power of an int that is not negative, by products."""
    out: Any = 1.0
    for _ in range(n):
        out = out * x
    return out


def _upwards(first, second, x, n, sign):
    """The order n from those of 0 and 1: c_(k+1) = 2 k / x c_k + sign c_(k-1), infinite where its first part is."""
    if n == 0:
        return first
    for k in range(1, n):
        part = 2 * k / x * second
        first, second = second, where(call("isinf", part), part, part + sign * first)
    return second


def _check_order(name, n):
    if n > HIGHEST:
        raise CannotFuse(f"{name} of order {n}, above {HIGHEST}, has no kernel")


def _with_parity(x, out, n):
    """An even or odd function from its values of |x|."""
    return where(x < 0, -out, out) if n % 2 else out


# ---------------------------------------------------------------- J and Y

def _near_j(w, n):
    """J_0 or J_1 / x up to _FIRST_TURN, w = x^2."""
    above, below, (r, s) = ((_J0_ABOVE, _J0_BELOW, _J0_ZEROS), (_J1_ABOVE, _J1_BELOW, _J1_ZEROS))[n]
    return (w - r) * (w - s) * (polynomial(w, above) / polynomial(w, below))


def _far(x, n):
    """(J_n, Y_n) beyond _FIRST_TURN, n 0 or 1."""
    p_above, p_below, q_above, q_below = ((_P0_ABOVE, _P0_BELOW, _Q0_ABOVE, _Q0_BELOW),
                                          (_P1_ABOVE, _P1_BELOW, _Q1_ABOVE, _Q1_BELOW))[n]
    z, w, sine, cosine = 5 / x, 25 / (x * x), call("sin", x), call("cos", x)
    p = polynomial(w, p_above) / polynomial(w, p_below)
    q = z * (polynomial(w, q_above) / polynomial(w, q_below))
    size = call("sqrt", 1 / (math.pi * x))                   # sqrt(2 / (pi x)) / sqrt(2)
    if n == 0:
        along, across = cosine + sine, sine - cosine         # of the phase x - pi / 4
    else:
        along, across = sine - cosine, -(sine + cosine)      # of the phase x - 3 pi / 4
    return size * (p * along - q * across), size * (p * across + q * along)


def _is_beyond(size):
    """True where J and Y count as 0."""
    return size == math.inf if compute_dtype(size.dtype) is dt.float64 else size > _PHASE


def _j_of_orders(size):
    """(J_0, J_1) of numbers that are not negative."""
    w, near = size * size, size <= _FIRST_TURN
    return where(near, _near_j(w, 0), _far(size, 0)[0]), where(near, size * _near_j(w, 1), _far(size, 1)[0])


def bessel_j_element(x, n):
    """J_n of a ScalarExpr, 0 at infinities. raises : CannotFuse above HIGHEST"""
    _check_order("bessel_j", n)
    size = call("abs", x)
    first, second = _j_of_orders(size)
    out = where(_is_beyond(size), 0.0, _upwards(first, second, size, n, -1))
    if n > 1:
        series = power(size / 2, n) * _power_series(size * size / -4, n, n * n / 4) * (1 / math.factorial(n))
        out = where(size <= n, series, out)
    return _with_parity(x, out, n)


def bessel_y_element(x, n):
    """Y_n of a ScalarExpr; -inf at 0, NaN below, 0 at infinity. raises : CannotFuse above HIGHEST"""
    _check_order("bessel_y", n)
    w, near, scaled = x * x, x <= _FIRST_TURN, 2 / math.pi * call("log", x)
    first = polynomial(w, _Y0_ABOVE) / polynomial(w, _Y0_BELOW) + scaled * _near_j(w, 0)
    first = where(near, first, _far(x, 0)[1])
    second = x * (polynomial(w, _Y1_ABOVE) / polynomial(w, _Y1_BELOW) + scaled * _near_j(w, 1)) - 2 / math.pi / x
    second = where(near, second, _far(x, 1)[1])
    out = where(_is_beyond(x), 0.0, _upwards(first, second, x, n, -1))
    return where(x == 0, -math.inf, where(x < 0, math.nan, out))


# ---------------------------------------------------------------- I and K

def bessel_i_element(x, n, scaled):
    """I_n of a ScalarExpr, times exp(-|x|) if scaled. raises : CannotFuse above HIGHEST"""
    _check_order("bessel_i", n)
    size = call("abs", x)
    near, low, high, root = size <= _SECOND_TURN, size / 2 - 2, 32 / size - 2, call("sqrt", size)
    first = where(near, _chebyshev(low, _I0_NEAR), _chebyshev(high, _I0_FAR) / root)
    second = where(near, size * _chebyshev(low, _I1_NEAR), _chebyshev(high, _I1_FAR) / root)
    before, out = first, first if n == 0 else second
    for k in range(1, n):                                    # I_(k+1) = I_(k-1) - 2 k / x I_k
        before, out = out, before - 2 * k / size * out
    if n > 1:
        turn = 2.0 * (n - 1)                                 # below, the recurrence cancels
        series = power(size / 2, n) * _power_series(size * size / 4, n, turn * turn / 4) * (1 / math.factorial(n))
        out = where(size <= turn, series * call("exp", -size), out)
    if not scaled:
        growth = call("exp", size / 2)                       # exp(x) overflows before I_n does
        out = where(size == math.inf, math.inf, out * growth * growth)
    return _with_parity(x, out, n)


def bessel_k_element(x, n, scaled):
    """K_n of a ScalarExpr, times exp(x) if scaled; inf at 0, NaN below, 0 at infinity. raises : CannotFuse above HIGHEST"""
    _check_order("bessel_k", n)
    near, w, far = x <= 2, x * x, 8 / x - 2
    logarithm, t = call("log", 0.5 * x), w / 4
    first = _chebyshev(w - 2, _K0_NEAR) - logarithm * _power_series(t, 0, 1.0)
    second = logarithm * (x / 2) * _power_series(t, 1, 1.0) + _chebyshev(w - 2, _K1_NEAR) / x
    decay, root = call("exp", -x), call("sqrt", x)
    shares = [_chebyshev(far, table) / root for table in (_K0_FAR, _K1_FAR)]
    if scaled:
        growth = call("exp", where(near, x, 0.0))
        first, second = [where(near, value * growth, share) for value, share in zip((first, second), shares)]
    else:
        first, second = [where(near, value, share * decay) for value, share in zip((first, second), shares)]
    out = _upwards(first, second, x, n, 1)
    return where(x == 0, math.inf, where(x < 0, math.nan, out))

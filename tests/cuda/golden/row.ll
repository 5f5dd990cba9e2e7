; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".33" = alloca double
  %".34" = alloca float
  %".234" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".5", 1
  %".12" = select  i1 %".11", i64 %".5", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = sub i64 %".10", 1
  %".17" = call i64 @"llvm.ctlz.i64"(i64 %".16", i1 0)
  %".18" = sub i64 64, %".17"
  %".19" = icmp slt i64 %".15", %".18"
  %".20" = select  i1 %".19", i64 %".15", i64 %".18"
  %".21" = shl i64 1, %".20"
  %".22" = sub i64 %".21", 1
  %".23" = and i64 %".9", %".22"
  %".24" = lshr i64 %".10", %".20"
  %".25" = mul i64 %".1", %".24"
  %".26" = lshr i64 %".9", %".20"
  %".27" = add i64 %".25", %".26"
  %".28" = icmp slt i64 %".27", %".4"
  %".29" = sub i64 %".4", 1
  %".30" = select  i1 %".28", i64 %".27", i64 %".29"
  %".31" = icmp eq i64 %".23", 0
  %".32" = and i1 %".28", %".31"
  store double              0x0, double* %".33"
  %".36" = mul i64 %".21", 1024
  br label %"head"
head:
  %".38" = phi  i64 [0, %"body"], [%".232", %"after.2"]
  %".39" = icmp slt i64 %".38", %".5"
  br i1 %".39", label %"loop", label %"after"
loop:
  store float              0x0, float* %".34"
  %".42" = add i64 %".38", %".23"
  %".43" = add i64 %".38", %".36"
  %".44" = icmp slt i64 %".43", %".5"
  %".45" = select  i1 %".44", i64 %".43", i64 %".5"
  %".46" = mul i64 %".21", 3
  %".47" = sub i64 %".45", %".46"
  %".48" = mul i64 %".21", 4
  br label %"head.1"
after:
  %".235" = icmp slt i64 %".21", 32
  %".236" = select  i1 %".235", i64 %".21", i64 32
  %".237" = lshr i64 %".236", 1
  store i64 %".237", i64* %".234"
  br label %"head.3"
head.1:
  %".50" = phi  i64 [%".42", %"loop"], [%".187", %"loop.1"]
  %".51" = icmp slt i64 %".50", %".47"
  br i1 %".51", label %"loop.1", label %"after.1"
loop.1:
  %".53" = mul nsw i64 %".30", %".5"
  %".54" = add nsw i64 %".53", %".50"
  %".55" = getelementptr float, float addrspace(1)* %".7", i64 %".54"
  %".56" = load float, float addrspace(1)* %".55", !alias.scope !3, !noalias !4
  %".57" = fcmp olt float %".56", 0xc05a000000000000
  %".58" = select  i1 %".57", float 0xc05a000000000000, float %".56"
  %".59" = fcmp ogt float %".58", 0x4056400000000000
  %".60" = select  i1 %".59", float 0x4056400000000000, float %".58"
  %".61" = call float @"llvm.fma.f32"(float %".60", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".62" = fsub float %".61", 0x4168001fc0000000
  %".63" = call float @"llvm.fma.f32"(float %".62", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".64" = call float @"llvm.fma.f32"(float %".62", float 0xbfe6300000000000, float %".60")
  %".65" = call float @"llvm.fma.f32"(float %".62", float 0x3f2bd01060000000, float %".64")
  %".66" = bitcast float %".63" to i32
  %".67" = shl i32 %".66", 23
  %".68" = bitcast float %".61" to i32
  %".69" = bitcast float %".63" to i32
  %".70" = sub i32 %".68", %".69"
  %".71" = shl i32 %".70", 23
  %".72" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".65", float 0x3f8123a020000000)
  %".73" = call float @"llvm.fma.f32"(float %".72", float %".65", float 0x3fa5558f20000000)
  %".74" = call float @"llvm.fma.f32"(float %".73", float %".65", float 0x3fc5554920000000)
  %".75" = call float @"llvm.fma.f32"(float %".74", float %".65", float 0x3fdfffffc0000000)
  %".76" = call float @"llvm.fma.f32"(float %".75", float %".65", float 0x3ff0000000000000)
  %".77" = call float @"llvm.fma.f32"(float %".76", float %".65", float 0x3ff0000000000000)
  %".78" = bitcast i32 %".67" to float
  %".79" = fmul float %".77", %".78"
  %".80" = bitcast i32 %".71" to float
  %".81" = fmul float %".79", %".80"
  %".82" = load float, float* %".34"
  %".83" = fadd reassoc float %".82", %".81"
  store float %".83", float* %".34"
  %".85" = mul i64 %".21", 1
  %".86" = add i64 %".50", %".85"
  %".87" = mul nsw i64 %".30", %".5"
  %".88" = add nsw i64 %".87", %".86"
  %".89" = getelementptr float, float addrspace(1)* %".7", i64 %".88"
  %".90" = load float, float addrspace(1)* %".89", !alias.scope !3, !noalias !4
  %".91" = fcmp olt float %".90", 0xc05a000000000000
  %".92" = select  i1 %".91", float 0xc05a000000000000, float %".90"
  %".93" = fcmp ogt float %".92", 0x4056400000000000
  %".94" = select  i1 %".93", float 0x4056400000000000, float %".92"
  %".95" = call float @"llvm.fma.f32"(float %".94", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".96" = fsub float %".95", 0x4168001fc0000000
  %".97" = call float @"llvm.fma.f32"(float %".96", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".98" = call float @"llvm.fma.f32"(float %".96", float 0xbfe6300000000000, float %".94")
  %".99" = call float @"llvm.fma.f32"(float %".96", float 0x3f2bd01060000000, float %".98")
  %".100" = bitcast float %".97" to i32
  %".101" = shl i32 %".100", 23
  %".102" = bitcast float %".95" to i32
  %".103" = bitcast float %".97" to i32
  %".104" = sub i32 %".102", %".103"
  %".105" = shl i32 %".104", 23
  %".106" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".99", float 0x3f8123a020000000)
  %".107" = call float @"llvm.fma.f32"(float %".106", float %".99", float 0x3fa5558f20000000)
  %".108" = call float @"llvm.fma.f32"(float %".107", float %".99", float 0x3fc5554920000000)
  %".109" = call float @"llvm.fma.f32"(float %".108", float %".99", float 0x3fdfffffc0000000)
  %".110" = call float @"llvm.fma.f32"(float %".109", float %".99", float 0x3ff0000000000000)
  %".111" = call float @"llvm.fma.f32"(float %".110", float %".99", float 0x3ff0000000000000)
  %".112" = bitcast i32 %".101" to float
  %".113" = fmul float %".111", %".112"
  %".114" = bitcast i32 %".105" to float
  %".115" = fmul float %".113", %".114"
  %".116" = load float, float* %".34"
  %".117" = fadd reassoc float %".116", %".115"
  store float %".117", float* %".34"
  %".119" = mul i64 %".21", 2
  %".120" = add i64 %".50", %".119"
  %".121" = mul nsw i64 %".30", %".5"
  %".122" = add nsw i64 %".121", %".120"
  %".123" = getelementptr float, float addrspace(1)* %".7", i64 %".122"
  %".124" = load float, float addrspace(1)* %".123", !alias.scope !3, !noalias !4
  %".125" = fcmp olt float %".124", 0xc05a000000000000
  %".126" = select  i1 %".125", float 0xc05a000000000000, float %".124"
  %".127" = fcmp ogt float %".126", 0x4056400000000000
  %".128" = select  i1 %".127", float 0x4056400000000000, float %".126"
  %".129" = call float @"llvm.fma.f32"(float %".128", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".130" = fsub float %".129", 0x4168001fc0000000
  %".131" = call float @"llvm.fma.f32"(float %".130", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".132" = call float @"llvm.fma.f32"(float %".130", float 0xbfe6300000000000, float %".128")
  %".133" = call float @"llvm.fma.f32"(float %".130", float 0x3f2bd01060000000, float %".132")
  %".134" = bitcast float %".131" to i32
  %".135" = shl i32 %".134", 23
  %".136" = bitcast float %".129" to i32
  %".137" = bitcast float %".131" to i32
  %".138" = sub i32 %".136", %".137"
  %".139" = shl i32 %".138", 23
  %".140" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".133", float 0x3f8123a020000000)
  %".141" = call float @"llvm.fma.f32"(float %".140", float %".133", float 0x3fa5558f20000000)
  %".142" = call float @"llvm.fma.f32"(float %".141", float %".133", float 0x3fc5554920000000)
  %".143" = call float @"llvm.fma.f32"(float %".142", float %".133", float 0x3fdfffffc0000000)
  %".144" = call float @"llvm.fma.f32"(float %".143", float %".133", float 0x3ff0000000000000)
  %".145" = call float @"llvm.fma.f32"(float %".144", float %".133", float 0x3ff0000000000000)
  %".146" = bitcast i32 %".135" to float
  %".147" = fmul float %".145", %".146"
  %".148" = bitcast i32 %".139" to float
  %".149" = fmul float %".147", %".148"
  %".150" = load float, float* %".34"
  %".151" = fadd reassoc float %".150", %".149"
  store float %".151", float* %".34"
  %".153" = mul i64 %".21", 3
  %".154" = add i64 %".50", %".153"
  %".155" = mul nsw i64 %".30", %".5"
  %".156" = add nsw i64 %".155", %".154"
  %".157" = getelementptr float, float addrspace(1)* %".7", i64 %".156"
  %".158" = load float, float addrspace(1)* %".157", !alias.scope !3, !noalias !4
  %".159" = fcmp olt float %".158", 0xc05a000000000000
  %".160" = select  i1 %".159", float 0xc05a000000000000, float %".158"
  %".161" = fcmp ogt float %".160", 0x4056400000000000
  %".162" = select  i1 %".161", float 0x4056400000000000, float %".160"
  %".163" = call float @"llvm.fma.f32"(float %".162", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".164" = fsub float %".163", 0x4168001fc0000000
  %".165" = call float @"llvm.fma.f32"(float %".164", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".166" = call float @"llvm.fma.f32"(float %".164", float 0xbfe6300000000000, float %".162")
  %".167" = call float @"llvm.fma.f32"(float %".164", float 0x3f2bd01060000000, float %".166")
  %".168" = bitcast float %".165" to i32
  %".169" = shl i32 %".168", 23
  %".170" = bitcast float %".163" to i32
  %".171" = bitcast float %".165" to i32
  %".172" = sub i32 %".170", %".171"
  %".173" = shl i32 %".172", 23
  %".174" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".167", float 0x3f8123a020000000)
  %".175" = call float @"llvm.fma.f32"(float %".174", float %".167", float 0x3fa5558f20000000)
  %".176" = call float @"llvm.fma.f32"(float %".175", float %".167", float 0x3fc5554920000000)
  %".177" = call float @"llvm.fma.f32"(float %".176", float %".167", float 0x3fdfffffc0000000)
  %".178" = call float @"llvm.fma.f32"(float %".177", float %".167", float 0x3ff0000000000000)
  %".179" = call float @"llvm.fma.f32"(float %".178", float %".167", float 0x3ff0000000000000)
  %".180" = bitcast i32 %".169" to float
  %".181" = fmul float %".179", %".180"
  %".182" = bitcast i32 %".173" to float
  %".183" = fmul float %".181", %".182"
  %".184" = load float, float* %".34"
  %".185" = fadd reassoc float %".184", %".183"
  store float %".185", float* %".34"
  %".187" = add nsw i64 %".50", %".48"
  br label %"head.1"
after.1:
  br label %"head.2"
head.2:
  %".190" = phi  i64 [%".50", %"after.1"], [%".225", %"loop.2"]
  %".191" = icmp slt i64 %".190", %".45"
  br i1 %".191", label %"loop.2", label %"after.2"
loop.2:
  %".193" = mul nsw i64 %".30", %".5"
  %".194" = add nsw i64 %".193", %".190"
  %".195" = getelementptr float, float addrspace(1)* %".7", i64 %".194"
  %".196" = load float, float addrspace(1)* %".195", !alias.scope !3, !noalias !4
  %".197" = fcmp olt float %".196", 0xc05a000000000000
  %".198" = select  i1 %".197", float 0xc05a000000000000, float %".196"
  %".199" = fcmp ogt float %".198", 0x4056400000000000
  %".200" = select  i1 %".199", float 0x4056400000000000, float %".198"
  %".201" = call float @"llvm.fma.f32"(float %".200", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".202" = fsub float %".201", 0x4168001fc0000000
  %".203" = call float @"llvm.fma.f32"(float %".202", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".204" = call float @"llvm.fma.f32"(float %".202", float 0xbfe6300000000000, float %".200")
  %".205" = call float @"llvm.fma.f32"(float %".202", float 0x3f2bd01060000000, float %".204")
  %".206" = bitcast float %".203" to i32
  %".207" = shl i32 %".206", 23
  %".208" = bitcast float %".201" to i32
  %".209" = bitcast float %".203" to i32
  %".210" = sub i32 %".208", %".209"
  %".211" = shl i32 %".210", 23
  %".212" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".205", float 0x3f8123a020000000)
  %".213" = call float @"llvm.fma.f32"(float %".212", float %".205", float 0x3fa5558f20000000)
  %".214" = call float @"llvm.fma.f32"(float %".213", float %".205", float 0x3fc5554920000000)
  %".215" = call float @"llvm.fma.f32"(float %".214", float %".205", float 0x3fdfffffc0000000)
  %".216" = call float @"llvm.fma.f32"(float %".215", float %".205", float 0x3ff0000000000000)
  %".217" = call float @"llvm.fma.f32"(float %".216", float %".205", float 0x3ff0000000000000)
  %".218" = bitcast i32 %".207" to float
  %".219" = fmul float %".217", %".218"
  %".220" = bitcast i32 %".211" to float
  %".221" = fmul float %".219", %".220"
  %".222" = load float, float* %".34"
  %".223" = fadd reassoc float %".222", %".221"
  store float %".223", float* %".34"
  %".225" = add nsw i64 %".190", %".21"
  br label %"head.2"
after.2:
  %".227" = load float, float* %".34"
  %".228" = fpext float %".227" to double
  %".229" = load double, double* %".33"
  %".230" = fadd double %".229", %".228"
  store double %".230", double* %".33"
  %".232" = add nsw i64 %".38", %".36"
  br label %"head"
head.3:
  %".240" = load i64, i64* %".234"
  %".241" = icmp ugt i64 %".240", 0
  br i1 %".241", label %"loop.3", label %"after.3"
loop.3:
  %".243" = load i64, i64* %".234"
  %".244" = load double, double* %".33"
  %".245" = bitcast double %".244" to i64
  %".246" = trunc i64 %".245" to i32
  %".247" = trunc i64 %".243" to i32
  %".248" = call i32 @"shuffle"(i32 %".246", i32 %".247")
  %".249" = lshr i64 %".245", 32
  %".250" = trunc i64 %".249" to i32
  %".251" = trunc i64 %".243" to i32
  %".252" = call i32 @"shuffle"(i32 %".250", i32 %".251")
  %".253" = zext i32 %".248" to i64
  %".254" = zext i32 %".252" to i64
  %".255" = shl i64 %".254", 32
  %".256" = or i64 %".253", %".255"
  %".257" = bitcast i64 %".256" to double
  %".258" = load double, double* %".33"
  %".259" = fadd double %".258", %".257"
  store double %".259", double* %".33"
  %".261" = lshr i64 %".243", 1
  store i64 %".261", i64* %".234"
  br label %"head.3"
after.3:
  %".264" = icmp ugt i64 %".21", 32
  br i1 %".264", label %"after.3.if", label %"after.3.endif"
after.3.if:
  %".266" = sub i64 %".9", %".23"
  %".267" = lshr i64 %".266", 5
  %".268" = lshr i64 %".21", 5
  %".269" = lshr i64 %".9", 5
  %".270" = and i64 %".9", 31
  %".271" = icmp eq i64 %".270", 0
  %".272" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".273" = bitcast i8 addrspace(3)* %".272" to double addrspace(3)*
  br i1 %".271", label %"after.3.if.if", label %"after.3.if.endif"
after.3.endif:
  %".300" = load double, double* %".33"
  %".301" = fptrunc double %".300" to float
  %".302" = fdiv float %".301", 0x4053800000000000
  br i1 %".32", label %"after.3.endif.if", label %"after.3.endif.endif"
after.3.if.if:
  %".275" = load double, double* %".33"
  %".276" = getelementptr double, double addrspace(3)* %".273", i64 %".269"
  store double %".275", double addrspace(3)* %".276"
  br label %"after.3.if.endif"
after.3.if.endif:
  call void @"barrier"()
  %".280" = mul i64 0, 1
  %".281" = add i64 %".267", %".280"
  %".282" = getelementptr double, double addrspace(3)* %".273", i64 %".281"
  %".283" = load double, double addrspace(3)* %".282"
  store double %".283", double* %".33"
  br label %"head.4"
head.4:
  %".286" = phi  i64 [1, %"after.3.if.endif"], [%".296", %"loop.4"]
  %".287" = icmp slt i64 %".286", %".268"
  br i1 %".287", label %"loop.4", label %"after.4"
loop.4:
  %".289" = mul i64 %".286", 1
  %".290" = add i64 %".267", %".289"
  %".291" = getelementptr double, double addrspace(3)* %".273", i64 %".290"
  %".292" = load double, double addrspace(3)* %".291"
  %".293" = load double, double* %".33"
  %".294" = fadd double %".293", %".292"
  store double %".294", double* %".33"
  %".296" = add nsw i64 %".286", 1
  br label %"head.4"
after.4:
  call void @"barrier"()
  br label %"after.3.endif"
after.3.endif.if:
  %".304" = getelementptr float, float addrspace(1)* %".8", i64 %".30"
  store float %".302", float addrspace(1)* %".304", !alias.scope !4, !noalias !3
  br label %"after.3.endif.endif"
after.3.endif.endif:
  ret void
}

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

declare i16 @"to_bf16"(float %".1")

@"shared" = external addrspace(3) global [0 x i8]
define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = icmp sgt i64 %".4", 1
  %".8" = select  i1 %".7", i64 %".4", i64 1
  %".9" = sub i64 %".8", 1
  %".10" = call i64 @"llvm.ctlz.i64"(i64 %".9", i1 0)
  %".11" = sub i64 64, %".10"
  %".12" = sub i64 %".6", 1
  %".13" = call i64 @"llvm.ctlz.i64"(i64 %".12", i1 0)
  %".14" = sub i64 64, %".13"
  %".15" = icmp slt i64 %".11", %".14"
  %".16" = select  i1 %".15", i64 %".11", i64 %".14"
  %".17" = lshr i64 %".6", %".16"
  %".18" = sub i64 %".17", 1
  %".19" = add i64 %".3", %".18"
  %".20" = udiv i64 %".19", %".17"
  ret i64 %".20"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }